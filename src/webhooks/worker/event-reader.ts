/**
 * How the endpoints of a shard get their events: one pull over the log for all that are near its end, by the inverted index;
 * who is behind pulls by itself, page by page and in turn, and joins when it has caught up. Owns who reads where. Refuses to
 * know what becomes of an event: the machines do.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { createFilterIndex } from '../../core/filter/filter-index.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { EndpointMachine } from '../delivery-state/endpoint-machine.ts'
import type { DeliveryEndpoint } from '../delivery-state/endpoint-state.ts'
import { wantsGaps } from '../endpoints/event-type-opt-in.ts'
import type { DeliveryEvents } from '../send/delivery-events.ts'
import { untilMore } from './wait-for-events.ts'

/** Endpoints that are at most so many events behind begin in the shared pull. */
const NEAR = 2000
/** Most events of one shared read. */
const SHARED_PAGE = 500
/** Most matching events of one read for one endpoint, and its time. */
const OWN_PAGE = 32
const OWN_BUDGET_MS = 50
/** Time after which a pull that waits looks whether the log has another epoch. */
const LOOK_MS = 30_000

/** An endpoint as it is worked on. */
export interface Worked {
  endpoint: DeliveryEndpoint
  readonly machine: EndpointMachine
  /** Aborts when the endpoint is gone or given up. */
  readonly over: AbortSignal
  /** Part of the shared pull. */
  isJoined: boolean
}

export interface ShardPull {
  /** The endpoint is new here, was changed, or has room again. */
  look(worked: Worked): void
  leave(worked: Worked): void
  /** Reads until the signal aborts or the log has another epoch. */
  run(signal: AbortSignal): Promise<void>
}

export interface ShardPullOptions {
  reader: Reader
  events: DeliveryEvents
  /** Those there are at the beginning. */
  worked: readonly Worked[]
  /** An endpoint has events to send, or a row to write. */
  onOffered: (worked: Worked) => void
  clock: Clock
}

/** The pull of one shard in the reader's present epoch. */
export function createShardPull({ reader, events, worked, onOffered, clock }: ShardPullOptions): ShardPull {
  const { epoch } = reader
  const joined = createFilterIndex<Worked>()
  const members = new Set<Worked>()
  /** In the order of their turns. */
  const behind = new Set<Worked>()
  let wake = Promise.withResolvers<void>()
  let position = reader.latest
  for (const { machine } of worked) {
    const { base } = machine.cursors.live.progress
    if (base >= reader.latest - NEAR) position = Math.min(position, base)
  }

  const leave = (one: Worked): void => {
    joined.remove(one)
    members.delete(one)
    behind.delete(one)
    one.isJoined = false
  }
  const look = (one: Worked): void => {
    const { machine, endpoint } = one
    const { progress } = machine.cursors.live
    if (one.over.aborted || endpoint.status !== 'active') return leave(one)
    if (!one.isJoined && progress.readTo >= position) {
      one.isJoined = true
      members.add(one)
    }
    if (one.isJoined) joined.add(one, endpoint.filter)
    const replays = machine.replayRoom() > 0 && isReadable(machine)
    if ((!one.isJoined && machine.room() > 0) || replays) {
      behind.add(one)
      wake.resolve()
    }
  }
  /**
   * Up to where a replay is read: never ahead of the cursor over new events, so that none is taken for both at a time.
   */
  const replayEnd = ({ cursors: { live, replay } }: EndpointMachine): number =>
    Math.min(replay?.until ?? 0, live.progress.readTo, reader.latest)
  /** There is something of the replay that was not read, and may be. */
  const isReadable = (machine: EndpointMachine): boolean =>
    (machine.cursors.replay?.progress.readTo ?? 0) < replayEnd(machine)
  const share = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && reader.epoch === epoch) {
      const read = await reader.read({ after: position, filter: null, limit: SHARED_PAGE, signal })
      if (signal.aborted || reader.epoch !== epoch) return
      const touched = new Set<Worked>()
      for (const event of read.events) {
        // In a burst nobody has room after a few events, and each shard would look at all of them.
        if (members.size === 0) break
        for (const one of joined.match(event.facts)) {
          if (event.facts.kind === 'gap' && !wantsGaps(one.endpoint.filter)) continue
          const { progress } = one.machine.cursors.live
          if (event.sequence <= progress.readTo) continue
          if (one.machine.room() > 0) one.machine.offer(events.of(event).matched, clock.now())
          else {
            one.machine.passedTo(event.sequence - 1)
            leave(one)
          }
          touched.add(one)
        }
      }
      position = read.position
      for (const one of members) {
        one.machine.passedTo(position)
        if (one.machine.cursors.replay !== null) touched.add(one)
      }
      for (const one of touched) onOffered(one)
      if (!read.more) await untilMore({ reader, clock }, position, LOOK_MS, signal)
    }
  }
  /** One page of new events for an endpoint that is behind. */
  const readOwn = async (one: Worked, signal: AbortSignal): Promise<void> => {
    const { filter } = one.endpoint
    const { progress } = one.machine.cursors.live
    const limit = Math.min(OWN_PAGE, one.machine.room())
    if (one.isJoined || limit < 1) return
    const read = await reader.read({ after: progress.readTo, filter, limit, budgetMs: OWN_BUDGET_MS, signal })
    if (!mayGoOn(one, filter, signal)) return
    for (const event of read.events) {
      if (event.facts.kind !== 'gap' || wantsGaps(filter))
        one.machine.offer(events.of(event).matched, clock.now())
    }
    one.machine.passedTo(read.position)
  }
  /** One page of the endpoint's replay. */
  const readReplay = async (one: Worked, signal: AbortSignal): Promise<void> => {
    const { filter } = one.endpoint
    const { replay } = one.machine.cursors
    const limit = Math.min(OWN_PAGE, one.machine.replayRoom())
    if (replay === null || limit < 1 || !isReadable(one.machine)) return
    const { progress, only } = replay
    const end = replayEnd(one.machine)
    const next = only?.find((sequence) => sequence > progress.readTo)
    if (only !== null && (next === undefined || next > end)) return progress.passedTo(end)
    const read = await reader.read({
      after: next === undefined ? progress.readTo : next - 1,
      filter: only === null ? filter : null,
      limit: only === null ? limit : 1,
      budgetMs: OWN_BUDGET_MS,
      signal,
    })
    if (!mayGoOn(one, filter, signal)) return
    for (const event of read.events) {
      if (event.sequence > end) break
      const isAsked =
        next === undefined ? event.facts.kind !== 'gap' || wantsGaps(filter) : event.sequence === next
      if (isAsked) one.machine.offerReplayed(events.of(event).matched)
    }
    progress.passedTo(Math.min(end, next ?? read.position))
  }
  const mayGoOn = (one: Worked, filter: DeliveryEndpoint['filter'], signal: AbortSignal): boolean =>
    !signal.aborted && !one.over.aborted && reader.epoch === epoch && one.endpoint.filter === filter
  const catchUp = async (signal: AbortSignal): Promise<void> => {
    const onAbort = (): void => wake.resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    while (!signal.aborted && reader.epoch === epoch) {
      const [one] = behind
      if (one === undefined) {
        await wake.promise
        wake = Promise.withResolvers()
        continue
      }
      behind.delete(one)
      await readOwn(one, signal)
      await readReplay(one, signal)
      if (signal.aborted) break
      onOffered(one)
    }
    signal.removeEventListener('abort', onAbort)
  }

  for (const one of worked) look(one)
  return {
    look,
    leave,
    async run(signal) {
      const ended = new AbortController()
      const either = AbortSignal.any([signal, ended.signal])
      try {
        await Promise.race([share(either), catchUp(either)])
      } finally {
        ended.abort()
      }
    },
  }
}
