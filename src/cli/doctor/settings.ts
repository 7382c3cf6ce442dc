/**
 * What is wrong with the settings and the file they name, each fault a finding of its own. Owns the advice. Refuses to
 * judge them: the settings do.
 */
import { BridgeError } from '../../errors.ts'
import { loadCalendar } from '../../settings/calendar-file.ts'
import type { Examined } from '../../settings/settings.ts'
import { type Finding, fine } from './finding.ts'

const BROKERS = 'BRIDGE_KAFKA_BROKERS'

/** One finding a wrong setting or warning; one `ok` where there is none; and which log they choose. */
export function checkSettings({ errors, settings }: Examined): Finding[] {
  const wrong = errors
    .filter(({ field }) => field !== BROKERS)
    .map(
      ({ field, message }): Finding => ({
        level: 'fail',
        name: 'settings',
        finding: `${field} ${message}`,
        todo: 'correct it; its meaning: docs/configuration.md',
        area: 'settings',
      }),
    )
  const idle = settings.warnings
    .filter((warning) => !warning.startsWith(`${BROKERS} `))
    .map(
      (warning): Finding => ({
        level: 'warn',
        name: 'settings',
        finding: warning,
        todo: 'leave it out until then',
        area: 'settings',
      }),
    )
  wrong.push(...checkCalendar(settings.calendarFile))
  const roles = `complete for the roles ${settings.roles.join(', ')}`
  return [...wrong, ...(wrong.length === 0 ? [fine('settings', roles)] : []), ...idle, checkKafka(errors)]
}

/** What is wrong with the calendar file; nothing where it is good, or there is none. */
function checkCalendar(path: string | null): Finding[] {
  try {
    loadCalendar(path)
    return []
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    const finding = `BRIDGE_CALENDAR_FILE: ${error.message}`
    return [{ level: 'fail', name: 'settings', finding, todo: error.hint ?? 'correct it', area: 'settings' }]
  }
}

function checkKafka(errors: Examined['errors']): Finding {
  const wrong = errors.find(({ field }) => field === BROKERS)
  if (wrong === undefined) return fine('kafka', 'no brokers set: the embedded log is used')
  return {
    level: 'fail',
    name: 'kafka',
    finding: `${BROKERS} ${wrong.message}`,
    todo: `unset ${BROKERS} to use the embedded log`,
    area: 'settings',
  }
}
