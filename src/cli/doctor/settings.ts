/**
 * Turns each missing or wrong setting, and each warning about settings, into a finding: one line in the output of
 * `bridge doctor`.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { DAY_MS } from '../../core/durations.ts'
import { BridgeError } from '../../errors.ts'
import { affordableBackfill } from '../../governor/schedule/backfill-budget.ts'
import { loadCalendar } from '../../settings/calendar-file.ts'
import { type Examined, isMissing, type Settings } from '../../settings/settings.ts'
import { checkedUrl } from '../client/target.ts'
import { counted } from '../terminal/text.ts'
import { type Finding, fail, fine, warn } from './finding.ts'

/** One finding per warning, then one per wrong or missing setting; one `ok` where none is wrong. `nowMs`: the present, ms since 1970. */
export function checkSettings({ errors, settings }: Examined, nowMs: number): Finding[] {
  const wrong = errors.map((error) => {
    const todo = `${isMissing(error) ? 'set' : 'correct'} it; its meaning: docs/configuration.md`
    return fail('settings', `${error.field} ${error.message}`, todo, 'settings')
  })
  const { calendar, findings } = checkCalendar(settings.calendarFile)
  wrong.push(...findings)
  const noted = settings.warnings.map((text) => warn('settings', text, 'change it if that is not meant'))
  const roles = `complete for the roles ${settings.roles.join(', ')}`
  const complete = wrong.length === 0 ? [fine('settings', roles)] : []
  return [...noted, ...wrong, ...complete, ...checkUrl(settings), ...checkBackfill(settings, calendar, nowMs)]
}

/** A warning where commands such as `bridge tail` refuse `BRIDGE_URL`; the bridge itself does not read it. */
function checkUrl({ url }: Settings): Finding[] {
  try {
    if (url !== null) checkedUrl(url, 'BRIDGE_URL')
    return []
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    return [
      warn('settings', error.message, 'correct it or leave it out: commands such as bridge tail need it'),
    ]
  }
}

/** A warning where half of the weekly quota does not pay for the whole backfill of a first start. */
function checkBackfill(
  { upstream, plan, backfillMs, roles }: Settings,
  calendar: Calendar | null,
  nowMs: number,
): Finding[] {
  if (upstream === null || calendar === null || !roles.includes('poller')) return []
  const { weeklyQuota, pageSize } = plan
  const wantedMs = nowMs - backfillMs
  const range = { fromMs: wantedMs, untilMs: nowMs }
  const { units, budget, fromMs } = affordableBackfill({
    ...range,
    remaining: weeklyQuota,
    pageSize,
    calendar,
  })
  if (fromMs === wantedMs) return []
  const days = Math.round((nowMs - fromMs) / DAY_MS)
  const finding =
    `BRIDGE_BACKFILL needs about ${units} requests, half of the weekly quota is ${budget}: ` +
    `a first start reads the newest ${counted(days, 'day')} and leaves the rest as an open gap`
  const advice =
    'set BRIDGE_BACKFILL to a shorter time: its requests come back after a week, and until then polls are fewer and items later'
  return [warn('backfill', finding, advice)]
}

/** The calendar, and what is wrong with its file; null where it cannot be read. */
function checkCalendar(path: string | null): { calendar: Calendar | null; findings: Finding[] } {
  try {
    return { calendar: loadCalendar(path), findings: [] }
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    const finding = `BRIDGE_CALENDAR_FILE: ${error.message}`
    return { calendar: null, findings: [fail('settings', finding, error.hint ?? 'correct it', 'settings')] }
  }
}
