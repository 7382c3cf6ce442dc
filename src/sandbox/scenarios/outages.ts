/**
 * Defines scenarios in which the service fails: errors, broken responses, ignored filters, refused cursors, long
 * outages. Faults follow the market clock, so that they fall between the same items at any speed.
 */

import type { ScheduledFault } from '../faults/fault-schedule.ts'
import type { FaultSetting } from '../faults/faults.ts'
import { burst, even, openBurst, scattered } from '../market/day-shape.ts'
import { draftDay } from '../market/item-template.ts'
import { nextBusinessDay, parseSecondOfDay } from '../market/london.ts'
import { publications } from '../market/market-events.ts'
import { chanceOf, evenDrafts, plain, type Scenario } from '../market/scenario.ts'

/** One item a second for a minute, while faults are active. */
const minute: Pick<Scenario, 'firstDay'> = {
  firstDay: (market, day) =>
    publications(evenDrafts(market, day, { from: '10:00:02', to: '10:01:00', items: 60 })),
}

/** 250 items in two seconds, more than a page of 100 holds, so that polls overflow; then 30 more during the fault. */
const overflow: Pick<Scenario, 'firstDay' | 'backlog'> = {
  backlog: 150,
  firstDay: (market, day) => {
    const rush = burst(
      { first: parseSecondOfDay('10:00:20'), last: parseSecondOfDay('10:00:21') },
      250,
      chanceOf(market, day),
    )
    const after = even({ first: parseSecondOfDay('10:00:30'), last: parseSecondOfDay('10:01:20') }, 30)
    return publications(draftDay(market, day, [...rush, ...after]))
  },
}

/** Valid and invalid forms of Retry-After. The market clock reaches the first of the two dates. */
const retryAfterForms = [
  ...['1', '0', '-5', '1.5', '99999999999', 'soon', ''],
  'Tue, 03 Feb 2026 10:00:55 GMT',
  'Sun, 06 Nov 1994 08:49:37 GMT',
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
    firstDay: (market, day) => {
      const next = nextBusinessDay(day, 1)
      const chance = chanceOf(market, next)
      const night = scattered(
        { first: parseSecondOfDay('00:30'), last: parseSecondOfDay('06:50') },
        15,
        chance,
      )
      const after = even({ first: parseSecondOfDay('07:00:10'), last: parseSecondOfDay('07:01:20') }, 70)
      return publications([
        ...evenDrafts(market, day, { from: '18:00:02', to: '18:00:29', items: 14 }),
        ...draftDay(market, next, [...night, ...burst(openBurst, 200, chance), ...after]),
      ])
    },
  },
  throttled: {
    ...plain,
    ...minute,
    meaning:
      'an item a second; up to twelve short 429s of the throttle, with every form of Retry-After or none',
    faults: [
      { from: '10:00:05', until: '10:00:08', setting: { kind: 'throttle-429', count: 3 } },
      ...everyFiveSeconds(
        10,
        retryAfterForms.map((retryAfter) => ({ kind: 'throttle-429', retryAfter, count: 1 })),
        { lastingSeconds: 2 },
      ),
    ],
  },
  'quota-spent': {
    ...plain,
    ...minute,
    meaning: 'an item a second; 429 of the quota from 10:00:15 until 10:00:45',
    faults: [{ from: '10:00:15', until: '10:00:45', setting: { kind: 'quota-429' } }],
  },
  'server-errors': {
    ...plain,
    ...minute,
    meaning: 'an item a second; 500 from 10:00:10 until 10:00:25, then single 502, 503 and 504',
    faults: [
      { from: '10:00:10', until: '10:00:25', setting: { kind: 'status', status: 500 } },
      { from: '10:00:30', setting: { kind: 'status', status: 502 } },
      { from: '10:00:35', setting: { kind: 'status', status: 503, retryAfter: '2' } },
      { from: '10:00:40', setting: { kind: 'status', status: 504 } },
    ],
  },
  'slow-bodies': {
    ...plain,
    ...minute,
    meaning: 'an item a second; silence before an answer, silence inside one, and one that drips',
    faults: [
      { from: '10:00:05', setting: { kind: 'hang-before' } },
      { from: '10:00:20', setting: { kind: 'hang-inside' } },
      { from: '10:00:35', setting: { kind: 'drip' } },
    ],
  },
  'broken-bodies': {
    ...plain,
    ...minute,
    meaning: 'an item a second; every five seconds another way in which an answer can be broken',
    faults: everyFiveSeconds(5, [
      { kind: 'truncate' },
      { kind: 'html-200' },
      { kind: 'empty-body' },
      { kind: 'null-data' },
      { kind: 'reset-inside' },
      { kind: 'wrong-length' },
      { kind: 'broken-chunk' },
      { kind: 'gzip-rubbish' },
      { kind: 'gzip-cut' },
      { kind: 'duplicate-items' },
    ]),
  },
  'key-revoked': {
    ...plain,
    ...minute,
    meaning: 'an item a second; the key is refused from 10:00:15 until 10:00:40',
    faults: [{ from: '10:00:15', until: '10:00:40', setting: { kind: 'revoke-key' } }],
  },
  'filters-outside-plan': {
    ...plain,
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
    ...plain,
    ...overflow,
    meaning: '250 items in two seconds; filters are ignored without a word from 10:00:05 until 10:00:50',
    faults: [{ from: '10:00:05', until: '10:00:50', setting: { kind: 'ignore-filters' } }],
  },
  'looping-pages': {
    ...plain,
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
      return publications([
        ...evenDrafts(market, day, { from: '10:00:02', to: '10:00:38', items: 20 }),
        ...evenDrafts(market, dayAfter, { from: '07:00:01', to: '17:59:00', items: 60 }),
        ...evenDrafts(market, dayBack, { from: '07:00:01', to: '07:00:50', items: 40 }),
      ])
    },
  },
} as const satisfies Record<string, Scenario>

/**
 * Schedules a fault every five seconds, the first at second `first` of 10:00. With `lastingSeconds` an unused fault ends
 * after that time; otherwise it stays active until a request triggers it.
 */
function everyFiveSeconds(
  first: number,
  settings: readonly FaultSetting[],
  { lastingSeconds }: { lastingSeconds?: number } = {},
): ScheduledFault[] {
  const moment = (second: number): string => `10:00:${String(second).padStart(2, '0')}`
  return settings.map((setting, index) => {
    const second = first + index * 5
    const until = lastingSeconds === undefined ? {} : { until: moment(second + lastingSeconds) }
    return { from: moment(second), ...until, setting }
  })
}
