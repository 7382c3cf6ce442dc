/**
 * Defines scenarios of special days: a half day, a bank holiday, summer time and the end of a day.
 */
import type { SeededChance } from '../../core/chance.ts'
import { endOfDayCategory } from '../data/categories.ts'
import { burst, even, fundBurst, openBurst, secondRange } from '../market/day-shape.ts'
import type { ItemTemplate } from '../market/item-template.ts'
import { nextBusinessDay } from '../market/london.ts'
import { atSeconds, evenly, type MarketSeed, plain, type Scenario } from '../market/scenario.ts'
import { quietBetweenBursts } from './usual.ts'

/** Special days, by name. */
export const calendarScenarios = {
  'summer-morning': {
    ...plain,
    meaning: 'both bursts (80 and 120 items) in July: 07:00 in London is 06:00Z',
    day: '2026-07-07',
    start: '06:59:55',
    skips: [quietBetweenBursts],
    firstDay: atSeconds((chance) => bursts(chance, 80, 120)),
  },
  'half-day': {
    ...plain,
    meaning: 'Christmas Eve: small bursts, then the last two minutes; the end-of-day marker comes at 13:30',
    day: '2026-12-24',
    start: '06:59:55',
    skips: [quietBetweenBursts, { from: '07:10:15', to: '13:28:00' }],
    firstDay: atSeconds(
      (chance) => [...bursts(chance, 30, 30), ...even(secondRange('13:28:05', '13:30:00'), 16)],
      markEnd,
    ),
  },
  'end-of-day': {
    ...plain,
    meaning: 'ten items in the last two minutes of a day, then its marker (code EOD) at 18:30',
    start: '18:28:00',
    firstDay: evenly('18:28:05', '18:30:00', 11, markEnd),
  },
  'bank-holiday': {
    ...plain,
    meaning: 'a Monday in May without any item; then 40 in the first burst of Tuesday',
    day: '2026-05-04',
    start: '09:00:00',
    skips: [{ from: '09:00:20', to: '30:59:55' }],
    firstDay: (market, day) => atSeconds((chance) => bursts(chance, 40, 0))(market, nextBusinessDay(day, 1)),
  },
} as const satisfies Record<string, Scenario>

/** Returns the seconds of `open` and `funds` items in the two bursts. */
function bursts(chance: SeededChance, open: number, funds: number): number[] {
  return [...burst(openBurst, open, chance), ...burst(fundBurst, funds, chance)]
}

/** Turns the last item template into the market operator's end-of-day message. */
function markEnd(templates: readonly ItemTemplate[], { issuers }: MarketSeed): void {
  const last = templates.at(-1)
  if (last !== undefined) {
    last.category = endOfDayCategory
    last.issuer = issuers.operator
    last.replacesGuid = null
  }
}
