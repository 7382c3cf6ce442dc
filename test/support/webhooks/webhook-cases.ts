/** Draws random webhook worlds and checks what must hold in each. `webhook-world.ts` simulates them. */
import type { StoredEvent } from '../../../src/archive/store/stored.ts'
import { type SeededChance, seededChance } from '../../../src/core/chance.ts'
import { decodeCursor } from '../../../src/core/cursor.ts'
import { HOUR_MS, SECOND_MS } from '../../../src/core/durations.ts'
import { matches } from '../../../src/core/filter/filter.ts'
import { wantsGaps } from '../../../src/core/filter/webhook-opt-in.ts'
import { batchWebhookId } from '../../../src/core/signature.ts'
import { deadKey, positionKey, retryKey } from '../../../src/webhooks/delivery-state/delivery-rows.ts'
import type { DeliveryEndpoint } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import { answer, endpointOf, hangs, healthy, type Script, type Seen, WebhookWorld } from './webhook-world.ts'

/** Longer than a delivery waits; later ones in the order of their issuer may wait longer. */
const LONGEST_HOURS = 72

const fails: Script = ({ chance }) => ({ end: answer(500), afterMs: chance.between(1, 400) })

const scripts: Readonly<Record<string, (outageMs: readonly [number, number]) => Script>> = {
  well: () => healthy,
  shaky: () => (attempt) => (attempt.chance.yes(0.3) ? fails(attempt) : healthy(attempt)),
  stalling: () => (attempt) => (attempt.chance.yes(0.2) ? hangs(attempt) : healthy(attempt)),
  out:
    ([fromMs, toMs]) =>
    (attempt) =>
      attempt.nowMs >= fromMs && attempt.nowMs < toMs ? fails(attempt) : healthy(attempt),
  picky: () => (attempt) => (attempt.eventId.endsWith('7') ? fails(attempt) : healthy(attempt)),
  throttling: () => (attempt) =>
    attempt.chance.yes(0.2)
      ? {
          end: { kind: 'answered', status: 429, retryAfter: String(attempt.chance.between(0, 600)) },
          afterMs: 5,
        }
      : healthy(attempt),
}

/** The result of a world. */
export interface PlayedWorld {
  world: WebhookWorld
  /** The number of crashes. */
  crashes: number
  /** Sentences about violations; empty if there are none. */
  breaches: string[]
}

/** Plays the world of that seed to its end. */
export async function playWorld(seed: number): Promise<PlayedWorld> {
  const chance = seededChance(seed)
  const startMs = Date.UTC(2026, 5, 1, 6)
  const outage = [
    startMs + chance.between(0, 600) * SECOND_MS,
    startMs + chance.between(600, 9000) * SECOND_MS,
  ] as const
  const endpoints = Array.from({ length: chance.between(2, 4) }, (_, index) =>
    randomEndpoint(`ep_${index}`, chance, batchOf(seed, index)),
  )
  const drawn = endpoints.map(
    ({ id }) => [id, scripts[chance.pick(Object.keys(scripts))]?.(outage) ?? healthy] as const,
  )
  const world = new WebhookWorld({
    seed,
    endpoints,
    scripts: Object.fromEntries(drawn),
    refusals: chance.pick([0, 0.1, 0.4]),
  })
  const breaches: string[] = []
  const crashes = chance.between(3, 8)
  for (let crash = 0; crash < crashes; crash++) {
    for (let left = chance.between(1, 40); left > 0; left--) {
      world.log.add({
        subject: chance.pick(['a', 'b', 'c', 'd']),
        fca: chance.yes(0.05) ? null : chance.pick(['FR', 'NAV']),
      })
      if (chance.yes(0.2)) await world.run(chance.between(1, 2000))
    }
    await world.run(
      chance.pick([chance.between(0, 60), chance.between(0, 20_000), chance.between(0, HOUR_MS)]),
    )
    await world.crash()
    breaches.push(...aheadOfItself(world))
    world.clock.advance(chance.between(0, 5000))
    world.start()
  }
  world.refusals = 0
  await world.run(10 * SECOND_MS)
  for (let hours = 0; hours < LONGEST_HOURS && world.worker?.figures().pending !== 0; hours++)
    await world.run(HOUR_MS)
  const isOver = world.worker?.figures().pending === 0
  await world.stop()
  breaches.push(...aheadOfItself(world), ...verdict(world), ...(isOver ? lost(world) : []), ...fat(world))
  return { world, crashes, breaches }
}

/** In every third world some endpoints take batches. */
function batchOf(seed: number, index: number): number | null {
  return seed % 3 === 0 ? ([3, null, 20][index % 3] ?? null) : null
}

function randomEndpoint(id: string, chance: SeededChance, maxBatch: number | null): DeliveryEndpoint {
  return endpointOf(id, {
    maxConcurrency: chance.between(1, 5),
    order: chance.pick(['none', 'issuer']),
    filter: chance.pick([{}, { fcaCategories: ['FR'] }, { types: ['gap', 'published'] }]),
    rateLimit: chance.pick([null, null, 2, 20]),
    maxBatch,
  })
}

function matching(world: WebhookWorld, { filter }: DeliveryEndpoint): StoredEvent[] {
  return world.log.events.filter(
    ({ facts }) => matches(filter, facts) && (facts.kind !== 'gap' || wantsGaps(filter)),
  )
}

function wasTaken({ status, endedMs }: Seen): boolean {
  return status === 204 && endedMs !== null
}

/** Rule 7: events behind a durable position that are neither delivered nor in a row. */
function aheadOfItself(world: WebhookWorld): string[] {
  return [...world.endpoints.values()].flatMap((endpoint) => {
    const { id } = endpoint
    const position = world.rows.get(positionKey(id))
    if (position?.kind !== 'position') return []
    const base = decodeCursor(position.cursor).sequence
    const taken = new Set(
      world.seen.filter((one) => one.endpointId === id && wasTaken(one)).map((one) => one.sequence),
    )
    return matching(world, endpoint)
      .map(({ sequence }) => sequence)
      .filter((sequence) => sequence <= base || position.ahead.includes(sequence))
      .filter((sequence) => !taken.has(sequence))
      .filter((sequence) => !world.rows.has(retryKey(id, sequence)) && !world.rows.has(deadKey(id, sequence)))
      .map((sequence) => `${id} at ${base} has passed ${sequence}, which is nowhere`)
  })
}

function verdict(world: WebhookWorld): string[] {
  return [...world.endpoints.values()].flatMap((endpoint) => {
    const seen = world.seen.filter(({ endpointId }) => endpointId === endpoint.id)
    return [
      ...repeated(endpoint, seen),
      ...misnamed(world, endpoint, seen),
      ...tooMany(world, endpoint),
      ...(endpoint.order === 'issuer' ? outOfOrder(world, endpoint, seen) : []),
      ...tooSoon(endpoint, seen),
      ...badBatches(endpoint, seen),
    ]
  })
}

/** With nothing pending: events neither accepted nor recorded as dead. */
function lost(world: WebhookWorld): string[] {
  return [...world.endpoints.values()].flatMap((endpoint) => {
    const taken = new Set(
      world.seen
        .filter((one) => one.endpointId === endpoint.id && wasTaken(one))
        .map(({ sequence }) => sequence),
    )
    return matching(world, endpoint)
      .filter(({ sequence }) => !taken.has(sequence) && !world.rows.has(deadKey(endpoint.id, sequence)))
      .map(({ sequence }) => `${endpoint.id} never got ${sequence}`)
  })
}

/** A row holds no body. */
function fat(world: WebhookWorld): string[] {
  return [...world.rows]
    .filter(([, row]) => JSON.stringify(row).length > 400)
    .filter(([, row]) => row.kind !== 'position')
    .map(([key, row]) => `${key} has ${JSON.stringify(row).length} characters`)
}

/** Accepted again after a crash: at most `maxConcurrency` requests per process, and nothing twice in one process. */
function repeated({ id, maxConcurrency, maxBatch }: DeliveryEndpoint, seen: readonly Seen[]): string[] {
  const lastLife = new Map<number, number>()
  const ofLife = new Map<number, number>()
  const breaches: string[] = []
  for (const { sequence, life } of seen.filter(wasTaken)) {
    const before = lastLife.get(sequence)
    lastLife.set(sequence, life)
    if (before === undefined) continue
    if (before === life) breaches.push(`${id} got ${sequence} twice in life ${life}`)
    ofLife.set(before, (ofLife.get(before) ?? 0) + 1)
  }
  for (const [life, count] of ofLife) {
    if (count > maxConcurrency * (maxBatch ?? 1))
      breaches.push(`${id} (${maxConcurrency}): ${count} of life ${life} repeated`)
  }
  return breaches
}

function misnamed(world: WebhookWorld, { id }: DeliveryEndpoint, seen: readonly Seen[]): string[] {
  const named = ({ members }: Seen): string =>
    batchWebhookId(
      id,
      members.map(({ sequence, data }) => ({
        eventId: `e${world.log.events[sequence - 1]?.sequence}`,
        data: Buffer.from(data),
      })),
    )
  return seen
    .filter((one) => one.webhookId !== named(one))
    .map((one) => `${id}: ${one.sequence} came as ${one.webhookId}`)
}

function tooMany(world: WebhookWorld, { id, maxConcurrency }: DeliveryEndpoint): string[] {
  const most = world.mostInFlight.get(id) ?? 0
  return most > maxConcurrency ? [`${id}: ${most} in flight of ${maxConcurrency}`] : []
}

/** Sent although an earlier one of the issuer was neither accepted nor dead. */
function outOfOrder(world: WebhookWorld, endpoint: DeliveryEndpoint, seen: readonly Seen[]): string[] {
  const takenAtMs = new Map<number, number>()
  for (const one of seen) {
    if (wasTaken(one) && !takenAtMs.has(one.sequence)) takenAtMs.set(one.sequence, one.endedMs ?? 0)
  }
  const wanted = new Set(matching(world, endpoint).map(({ sequence }) => sequence))
  const ofSubject = (subject: string): Set<number> =>
    new Set(
      seen
        .filter((one) => one.subject === subject && wanted.has(one.sequence))
        .map(({ sequence }) => sequence),
    )
  return seen.flatMap((one) =>
    [...ofSubject(one.subject)]
      .filter((sequence) => sequence < one.sequence)
      .filter((sequence) => !one.members.some((member) => member.sequence === sequence))
      .filter((sequence) => (takenAtMs.get(sequence) ?? Number.POSITIVE_INFINITY) > one.startedMs)
      .filter((sequence) => !world.rows.has(deadKey(endpoint.id, sequence)))
      .map((sequence) => `${endpoint.id} got ${one.sequence} of ${one.subject} before ${sequence}`),
  )
}

/** Retried before the receiver's Retry-After, or else before the schedule's first delay. */
function tooSoon({ id }: DeliveryEndpoint, seen: readonly Seen[]): string[] {
  const last = new Map<number, Seen>()
  return seen.flatMap((one) => {
    const before = last.get(one.sequence)
    last.set(one.sequence, one)
    if (before === undefined || before.life !== one.life || before.endedMs === null) return []
    const gapMs = one.startedMs - before.endedMs
    const asked = Number(before.retryAfter ?? 0) * SECOND_MS
    return gapMs < (asked > 0 ? asked : 4500) ? [`${id} got ${one.sequence} again after ${gapMs} ms`] : []
  })
}

/** Too many events in a request, not in the order of the log, or a batch that was torn apart or mixed before its fifth try. */
function badBatches({ id, maxBatch, order }: DeliveryEndpoint, seen: readonly Seen[]): string[] {
  const last = new Map<number, Seen>()
  return seen.flatMap((one) => {
    const sequences = one.members.map(({ sequence }) => sequence)
    const before = last.get(one.sequence)
    last.set(one.sequence, one)
    const isRising = sequences.every((sequence, at) => at === 0 || sequence > (sequences[at - 1] ?? 0))
    const isRetry = before?.life === one.life && before.endedMs !== null && before.members.length > 1
    const isSame = String(before?.members.map(({ sequence }) => sequence)) === String(sequences)
    return [
      ...(sequences.length > (maxBatch ?? 1) ? [`${id} got ${sequences.length} events in a request`] : []),
      ...(isRising ? [] : [`${id} got ${sequences} in this order`]),
      ...(isRetry && order === 'none' && one.attempt < 5 && before?.webhookId !== one.webhookId && !isSame
        ? [`${id} got ${sequences} after ${before?.members.map(({ sequence }) => sequence)}`]
        : []),
    ]
  })
}
