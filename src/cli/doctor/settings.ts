/**
 * Reports each missing or wrong setting and each warning about settings as a finding.
 */
import { BridgeError } from '../../errors.ts'
import { loadCalendar } from '../../settings/calendar-file.ts'
import { type Examined, isMissing } from '../../settings/settings.ts'
import { type Finding, fine } from './finding.ts'

/** One finding per wrong or missing setting and per warning; one `ok` where there is none. */
export function checkSettings({ errors, settings }: Examined): Finding[] {
  const wrong = errors.map(
    ({ field, message }): Finding => ({
      level: 'fail',
      name: 'settings',
      finding: `${field} ${message}`,
      todo: `${isMissing({ field, message }) ? 'set' : 'correct'} it; its meaning: docs/configuration.md`,
      area: 'settings',
    }),
  )
  const noted = settings.warnings.map(
    (warning): Finding => ({
      level: 'warn',
      name: 'settings',
      finding: warning,
      todo: 'change it if that is not meant',
      area: 'settings',
    }),
  )
  wrong.push(...checkCalendar(settings.calendarFile))
  const roles = `complete for the roles ${settings.roles.join(', ')}`
  return [...wrong, ...(wrong.length === 0 ? [fine('settings', roles)] : []), ...noted]
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
