/**
 * Turns each missing or wrong setting, and each warning about settings, into a finding: one line in the output of
 * `bridge doctor`.
 */
import { BridgeError } from '../../errors.ts'
import { loadCalendar } from '../../settings/calendar-file.ts'
import { type Examined, isMissing } from '../../settings/settings.ts'
import { type Finding, fail, fine, warn } from './finding.ts'

/** One finding per wrong or missing setting and per warning; one `ok` where there is none. */
export function checkSettings({ errors, settings }: Examined): Finding[] {
  const wrong = errors.map((error) => {
    const todo = `${isMissing(error) ? 'set' : 'correct'} it; its meaning: docs/configuration.md`
    return fail('settings', `${error.field} ${error.message}`, todo, 'settings')
  })
  wrong.push(...checkCalendar(settings.calendarFile))
  const noted = settings.warnings.map((text) => warn('settings', text, 'change it if that is not meant'))
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
    return [fail('settings', finding, error.hint ?? 'correct it', 'settings')]
  }
}
