/**
 * Checks a chaos world after its bridges have ended: topics complete, no request by a fenced leader, every unit
 * counted.
 */
import { claimed } from '../../../log/samples.ts'
import type { TruthItem } from '../../worlds/completeness.ts'
import { judgeTopics } from '../judge-topics.ts'
import { createLogKeeper, kafkaLogOptions } from '../kafka-logs.ts'
import type { Place } from './place.ts'
import type { ChaosWorld } from './world.ts'

/** The result of a world. */
export interface ChaosVerdict {
  /** Revisions that the market showed. */
  shown: number
  /** Disclosures in the topic of all events. */
  published: number
  /** Claims that fenced an earlier writer. */
  claims: number
  /** Requests that upstream counted. */
  units: number
  /** Units in the durable ledger beyond those. */
  unitsOver: number
  /** Requests from a process after another had fenced it: each was counted before. */
  afterFence: number
  /** One sentence per broken promise. */
  broken: string[]
}

/** Checks a world whose bridges have all ended. `owed`: the items that must have been published by now. */
export async function judgeChaos(world: ChaosWorld, owed: readonly TruthItem[]): Promise<ChaosVerdict> {
  const { cluster, prefix, sandbox, places } = world
  const logs = createLogKeeper()
  const { state } = await claimed(logs.open(kafkaLogOptions(cluster.brokers, prefix)))
  await logs.closeAll()
  const byLedger = [...state.ledger.values()].flatMap((hour) => Object.values(hour))
  const usage = sandbox.usage()
  const unitsOver = byLedger.reduce((sum, units) => sum + units, 0) - usage.units
  const claims = places.reduce((sum, place) => sum + place.fences().length, 0)
  const { items } = sandbox.truth()
  const { published, openGaps, ...topics } = await judgeTopics(cluster.brokers, prefix, {
    owed,
    shown: items,
  })
  const strays = [...straysOf(places[0], places[1]), ...straysOf(places[1], places[0])]
  const broken = Object.entries(topics).flatMap(([what, found]) =>
    found.length === 0 ? [] : [`${what}: ${found.length}, e.g. ${found.slice(0, 3).join(', ')}`],
  )
  if (openGaps !== 0) broken.push(`${openGaps} gaps are open`)
  if (unitsOver < 0) broken.push(`the ledger has ${-unitsOver} units less than upstream`)
  // Each claim may follow one unit that was counted without a request.
  if (unitsOver > claims) broken.push(`the ledger has ${unitsOver} units too many after ${claims} claims`)
  if (strays.some((count) => count > 1)) broken.push(`a fenced bridge sent ${Math.max(...strays)} requests`)
  for (const refused of ['throttled', 'quotaRefused', 'violations'] as const)
    if (usage[refused] > 0) broken.push(`upstream counted ${usage[refused]} ${refused}`)
  return {
    shown: items.length,
    published,
    claims,
    units: usage.units,
    unitsOver,
    afterFence: strays.reduce((sum, count) => sum + count, 0),
    broken,
  }
}

/** For each time that `by` fenced, the requests of `place` until it claimed again. */
function straysOf(place: Place, by: Place): number[] {
  const own = place.fences()
  return by.fences().map((fencedMs) => {
    const againMs = own.find((atMs) => atMs > fencedMs) ?? Number.POSITIVE_INFINITY
    return place.front.arrivals().filter((atMs) => atMs > fencedMs && atMs < againMs).length
  })
}
