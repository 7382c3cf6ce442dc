/**
 * Defines scenarios of rushes: bursts that start late or arrive out of order, and floods of one kind of announcement.
 */
import { burst, secondRange } from '../market/day-shape.ts'
import { recategorise } from '../market/item-template.ts'
import { parseSecondOfDay } from '../market/london.ts'
import { delayed } from '../market/market-events.ts'
import { atSeconds, evenly, plain, type Scenario } from '../market/scenario.ts'

/** Forms that the takeover rules require by 15:30. */
const panelForms = ['RET', 'FER', 'FEO', 'DCC', 'FEE']

/** Leading items of the out-of-order burst that become visible late, and their delay after their timestamps. */
const OVERTAKEN_ITEMS = 38
const OVERTAKEN_DELAY_MS = 18_500

const outOfOrder = atSeconds((chance) => [
  ...burst(secondRange('07:00:04', '07:00:06'), OVERTAKEN_ITEMS, chance),
  ...burst(secondRange('07:00:07', '07:00:21'), 60, chance),
  parseSecondOfDay('07:00:22'),
  ...burst(secondRange('07:00:23', '07:00:40'), 30, chance),
])

/** Rushes, by name. */
export const rushScenarios = {
  'slipped-burst': {
    ...plain,
    meaning: '150 items: the 07:00 burst starts 1 to 5 s late and pauses until :12, :22 and :26',
    start: '06:59:57',
    firstDay: atSeconds((chance) => {
      const opening = secondRange('07:00:01', '07:00:09')
      return [
        ...burst({ ...opening, first: opening.first + chance.between(1, 5) }, 90, chance),
        ...burst(secondRange('07:00:12', '07:00:13'), 20, chance),
        ...burst(secondRange('07:00:22', '07:00:23'), 20, chance),
        ...burst(secondRange('07:00:26', '07:00:28'), 20, chance),
      ]
    }),
  },
  'out-of-order-burst': {
    ...plain,
    meaning: '129 items at 07:00:04–40; the 38 stamped 07:00:04–06 become visible after one stamped 07:00:22',
    start: '06:59:57',
    firstDay: (market, day) =>
      delayed(outOfOrder(market, day), (index) => (index < OVERTAKEN_ITEMS ? OVERTAKEN_DELAY_MS : null)),
  },
  'panel-rush': {
    ...plain,
    meaning: '180 takeover forms in 90 s from 15:25 on, most about another company',
    start: '15:24:50',
    firstDay: evenly('15:25:00', '15:26:30', 180, (templates, { issuers }) =>
      recategorise(templates, issuers, panelForms),
    ),
  },
  'tvr-flood': {
    ...plain,
    meaning: '300 Total Voting Rights in 90 s on the last business day of the month',
    day: '2026-02-27',
    start: '06:59:57',
    firstDay: evenly('07:00:01', '07:01:30', 300, (templates, { issuers }) =>
      recategorise(templates, issuers, ['TVR']),
    ),
  },
} as const satisfies Record<string, Scenario>
