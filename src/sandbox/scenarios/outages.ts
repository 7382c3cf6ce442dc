/**
 * Defines scenarios in which the service fails: errors, broken responses, ignored filters, refused cursors, long
 * outages, late documents. Faults follow the market clock (simulated time), so that they fall between the same items at
 * any speed.
 */
import type { FaultSetting } from '../faults/fault-kinds.ts'
import type { ScheduledFault } from '../faults/faults.ts'
import { burst, even, openBurst, scattered, secondRange } from '../market/day-shape.ts'
import { nextBusinessDay } from '../market/london.ts'
import { atSeconds, evenly, minute, plain, type Scenario } from '../market/scenario.ts'

/** One item a second for a minute, while faults are active. */
const steady = { ...plain, firstDay: minute(60) }

/** 250 items in two seconds, more than a page of 100 holds, so that polls overflow; then 30 more during the fault. */
const overflow = {
  ...plain,
  backlog: 150,
  firstDay: atSeconds((chance) => [
    ...burst(secondRange('10:00:20', '10:00:21'), 250, chance),
    ...even(secondRange('10:00:30', '10:01:20'), 30),
  ]),
}

/** Valid and invalid forms of Retry-After. The market clock reaches the first of the two dates. */
const retryAfterForms = [
  ...['1', '0', '-5', '1.5', '99999999999', 'soon', ''],
  'Tue, 03 Feb 2026 10:00:55 GMT',
  'Sun, 06 Nov 1994 08:49:37 GMT',
]

const brokenBodies = [
  ...(['truncate', 'html-200', 'empty-body', 'null-data', 'reset-inside'] as const),
  ...(['wrong-length', 'broken-chunk', 'gzip-rubbish', 'gzip-cut', 'duplicate-items'] as const),
]

/** Outages, by name. */
export const outageScenarios = {
  'overnight-halt': {
    ...plain,
    meaning:
      'answers 503 from 18:00:20 until 07:00:40 the next day, then shows the night and the burst at once',
    start: '18:00:00',
    skips: [{ from: '18:00:30', to: '30:59:58' }],
    faults: [{ from: '18:00:20', until: '31:00:40', setting: { kind: 'status', status: 503 } }],
    firstDay: (market, day) => [
      ...evenly('18:00:02', '18:00:29', 14)(market, day),
      ...atSeconds((chance) => [
        ...scattered(secondRange('00:30', '06:50'), 15, chance),
        ...burst(openBurst, 200, chance),
        ...even(secondRange('07:00:10', '07:01:20'), 70),
      ])(market, nextBusinessDay(day, 1)),
    ],
  },
  throttled: {
    ...steady,
    meaning:
      'an item a second; up to twelve short 429s of the throttle, with every form of Retry-After or none',
    faults: [
      { from: '10:00:05', until: '10:00:08', setting: { kind: 'throttle-429', count: 3 } },
      ...everyFiveSeconds(
        10,
        retryAfterForms.map((retryAfter) => ({ kind: 'throttle-429', retryAfter, count: 1 })),
        2,
      ),
    ],
  },
  'quota-spent': {
    ...steady,
    meaning: 'an item a second; 429 of the quota from 10:00:15 until 10:00:45',
    faults: [{ from: '10:00:15', until: '10:00:45', setting: { kind: 'quota-429' } }],
  },
  'server-errors': {
    ...steady,
    meaning: 'an item a second; 500 from 10:00:10 until 10:00:25, then single 502, 503 and 504',
    faults: [
      { from: '10:00:10', until: '10:00:25', setting: { kind: 'status', status: 500 } },
      { from: '10:00:30', setting: { kind: 'status', status: 502 } },
      { from: '10:00:35', setting: { kind: 'status', status: 503, retryAfter: '2' } },
      { from: '10:00:40', setting: { kind: 'status', status: 504 } },
    ],
  },
  'slow-bodies': {
    ...steady,
    meaning: 'an item a second; silence before an answer, silence inside one, and one that drips',
    faults: [
      { from: '10:00:05', setting: { kind: 'hang-before' } },
      { from: '10:00:20', setting: { kind: 'hang-inside' } },
      { from: '10:00:35', setting: { kind: 'drip' } },
    ],
  },
  'broken-bodies': {
    ...steady,
    meaning: 'an item a second; every five seconds another way in which an answer can be broken',
    faults: everyFiveSeconds(
      5,
      brokenBodies.map((kind) => ({ kind })),
    ),
  },
  'key-revoked': {
    ...steady,
    meaning: 'an item a second; the key is refused from 10:00:15 until 10:00:40',
    faults: [{ from: '10:00:15', until: '10:00:40', setting: { kind: 'revoke-key' } }],
  },
  'filters-outside-plan': {
    ...overflow,
    meaning: '250 items in two seconds; filters are ignored, and said to be, from 10:00:05 until 10:00:50',
    faults: [
      {
        from: '10:00:05',
        until: '10:00:50',
        setting: { kind: 'ignore-filters', warning: 'dateFrom and dateTo were ignored: not in this plan' },
      },
    ],
  },
  'filters-ignored': {
    ...overflow,
    meaning: '250 items in two seconds; filters are ignored without a word from 10:00:05 until 10:00:50',
    faults: [{ from: '10:00:05', until: '10:00:50', setting: { kind: 'ignore-filters' } }],
  },
  'looping-pages': {
    ...overflow,
    meaning: '250 items in two seconds; until 10:00:50 every walk is led back to the page that it is on',
    faults: [{ from: '10:00:05', until: '10:00:50', setting: { kind: 'repeat-page' } }],
  },
  'cursor-refused': {
    ...plain,
    meaning: 'away from 10:00:20 on for two days; back again, the service refuses the cursor of before',
    skips: [{ from: '10:00:40', to: '54:59:58' }],
    faults: [
      { from: '10:00:20', until: '55:00:05', setting: { kind: 'status', status: 503 } },
      { from: '55:00:05', setting: { kind: 'refuse-cursor', count: 2 } },
    ],
    firstDay: (market, day) => {
      const dayAfter = nextBusinessDay(day, 1)
      const dayBack = nextBusinessDay(dayAfter, 1)
      return [
        ...evenly('10:00:02', '10:00:38', 20)(market, day),
        ...evenly('07:00:01', '17:59:00', 60)(market, dayAfter),
        ...evenly('07:00:01', '07:00:50', 40)(market, dayBack),
      ]
    },
  },
  'late-documents': {
    ...plain,
    meaning: '20 items in two minutes; their documents answer 404 for three minutes each',
    documentsAfterMs: 180_000,
    firstDay: evenly('10:00:02', '10:02:00', 20),
  },
} as const satisfies Record<string, Scenario>

/**
 * Schedules a fault every five seconds, the first at second `first` of 10:00. With `lastingSeconds` an unused fault ends
 * after that time; otherwise it stays active until a request triggers it.
 */
function everyFiveSeconds(
  first: number,
  settings: readonly FaultSetting[],
  lastingSeconds?: number,
): ScheduledFault[] {
  const moment = (second: number): string => `10:00:${second.toString().padStart(2, '0')}`
  return settings.map((setting, index) => {
    const second = first + index * 5
    const until = lastingSeconds === undefined ? {} : { until: moment(second + lastingSeconds) }
    return { from: moment(second), ...until, setting }
  })
}
