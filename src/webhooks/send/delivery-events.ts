/**
 * Finds the events of deliveries by sequence and caches those last used, encoded once for all endpoints. Waiting deliveries
 * hold no body: it is read again.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'
import type { Matched } from '../delivery-state/endpoint-state.ts'

/** Bounds of the cache over all shards: a burst of usual size, whose events every endpoint needs within seconds. */
const MOST_EVENTS = 4000
const MOST_BYTES = 32 * 1024 * 1024

/** An event with its body: CloudEvents structured JSON. */
export interface DeliveryEvent {
  /** What is kept of it while its delivery waits. */
  matched: Matched
  body: Uint8Array
}

/** `later`: this node's replica does not have the event yet. `dropped`: the log no longer keeps it. */
export type EventLookup = { kind: 'event'; event: DeliveryEvent } | { kind: 'later' } | { kind: 'dropped' }

export interface DeliveryEvents {
  /** The event as deliveries need it; cached, because it is about to be sent. */
  of(event: StoredEvent): DeliveryEvent
  /** The cursor of that sequence. */
  cursorAt(sequence: number): string
  /** The event at that sequence, at once where it is cached. An abort ends it early with `later`. */
  find(sequence: number, signal: AbortSignal): EventLookup | Promise<EventLookup>
}

/** Over one reader; for all shards of the process. */
export function createDeliveryEvents(
  reader: Reader,
  bounds: { events: number; bytes: number } = { events: MOST_EVENTS, bytes: MOST_BYTES },
): DeliveryEvents {
  const known = new Map<number, DeliveryEvent>()
  let bytes = 0
  let { epoch } = reader
  const forgetOldest = (): void => {
    for (const [sequence, { body }] of known) {
      if (known.size <= bounds.events && bytes <= bounds.bytes) return
      known.delete(sequence)
      bytes -= body.length
    }
  }
  const checkEpoch = (): void => {
    if (reader.epoch === epoch) return
    known.clear()
    bytes = 0
    epoch = reader.epoch
  }
  const of = (stored: StoredEvent): DeliveryEvent => {
    checkEpoch()
    const before = known.get(stored.sequence)
    if (before !== undefined) return before
    const { sequence, recordedMs, json, cursor } = stored
    const event = { matched: { sequence, recordedMs, cursor, ...envelopeOf(json) }, body: json }
    known.set(sequence, event)
    bytes += json.length
    forgetOldest()
    return event
  }
  const readOne = async (sequence: number, signal: AbortSignal): Promise<EventLookup> => {
    const { events } = await reader.read({ after: sequence - 1, filter: null, limit: 1, signal })
    const [found] = events
    if (found?.sequence === sequence) return { kind: 'event', event: of(found) }
    return signal.aborted || sequence >= reader.oldest ? { kind: 'later' } : { kind: 'dropped' }
  }
  return {
    of,
    cursorAt(sequence) {
      checkEpoch()
      return known.get(sequence)?.matched.cursor ?? reader.cursorAt(sequence)
    },
    find(sequence, signal) {
      checkEpoch()
      const event = known.get(sequence)
      if (event !== undefined) return { kind: 'event', event }
      if (reader.replica.filling !== null || sequence > reader.latest) return { kind: 'later' }
      return readOne(sequence, signal)
    },
  }
}

/** Where the attributes end: inside one of them its quotes would be escaped, and `data` is the last member. */
const DATA = ',"data":'

/** Reads the attributes from the JSON of an event without parsing its data. */
function envelopeOf(json: Buffer): { eventId: string; subject: string } {
  const attributes = json.subarray(0, json.indexOf(DATA))
  const { id, subject } = JSON.parse(`${attributes.toString('utf8')}}`) as { id: string; subject: string }
  return { eventId: id, subject }
}
