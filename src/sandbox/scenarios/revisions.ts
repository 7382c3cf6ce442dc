/**
 * Defines scenarios of items that change or arrive late: amended, delayed, replaced or corrected.
 */
import { correctFirst, neverSeenGuid, nextVersion } from '../market/item-template.ts'
import { delayed, withAmendments, withDisappearances } from '../market/market-events.ts'
import { evenly, minute, plain, type Scenario } from '../market/scenario.ts'

/** Items of `later-versions` that begin as version 1. */
const VERSIONED = 10
/** Items of `corrections` that correct an item that was never published. */
const ORPHANS = 3

const late = evenly('10:00:02', '10:02:00', 60)
const replacing = minute(40, (templates) => correctFirst(templates, 10))

/** Revisions, by name. */
export const revisionScenarios = {
  amended: {
    ...plain,
    meaning:
      '30 items in a minute; 20 s after each the same guid comes with other content and a new timestamp',
    firstDay: amendedMinute(true),
  },
  'amended-in-place': {
    ...plain,
    meaning: 'the same, but the timestamp stays: no cursor shows it, only reading the window again does',
    firstDay: amendedMinute(false),
  },
  late: {
    ...plain,
    meaning: '60 items in two minutes; every tenth becomes visible 5 to 55 s after its timestamp',
    firstDay: (market, day) =>
      delayed(late(market, day), (index) => (index % 10 === 5 ? index * 1_000 : null)),
  },
  vanish: {
    ...plain,
    meaning: '40 items in a minute; the last ten replace the first ten, which disappear',
    firstDay: (market, day) => withDisappearances(replacing(market, day)),
  },
  corrections: {
    ...plain,
    meaning: '40 items in a minute; the last ten correct the first ten, which stay; three more are orphans',
    firstDay: minute(40, (templates, _market, day) => {
      correctFirst(templates, 10)
      for (const orphan of templates.slice(20, 20 + ORPHANS)) orphan.replacesGuid = neverSeenGuid(day)
    }),
  },
  'later-versions': {
    ...plain,
    meaning:
      '30 items in a minute: ten with version 1, then their versions 2 and 3; each replaces the one before',
    firstDay: minute(3 * VERSIONED, (templates) => {
      templates.forEach((template, index) => {
        const before = templates[index - VERSIONED]
        if (before !== undefined) nextVersion(template, before)
      })
    }),
  },
} as const satisfies Record<string, Scenario>

function amendedMinute(restamped: boolean): Scenario['firstDay'] {
  return (market, day) => withAmendments(minute(30)(market, day), { afterMs: 20_000, restamped })
}
