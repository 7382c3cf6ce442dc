/**
 * Finds the events that webhooks deliver by their sequence numbers, and caches those used last, encoded once for all
 * endpoints. A waiting delivery holds no body: its event is read again.
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
  body: Buffer
}

/** `later`: this node's replica does not have the event yet. `dropped`: the log no longer keeps it. */
export type EventLookup = { kind: 'event'; event: DeliveryEvent } | { kind: 'later' } | { kind: 'dropped' }

/** The events of one reader, for all shards of the process. */
export class DeliveryEvents {
  readonly #reader: Reader
  /** In the order in which they were read. */
  readonly #known = new Map<number, DeliveryEvent>()
  #bytes = 0
  #epoch: string | null

  constructor(reader: Reader) {
    this.#reader = reader
    this.#epoch = reader.epoch
  }

  /** The event as deliveries need it; cached, because it is about to be sent. */
  of(stored: StoredEvent): DeliveryEvent {
    const { sequence, recordedMs, committedMs, json } = stored
    const before = this.#cached(sequence)
    if (before !== undefined) return before
    const { cursor } = stored
    const event = { matched: { sequence, recordedMs, committedMs, cursor, ...envelopeOf(json) }, body: json }
    this.#known.set(sequence, event)
    this.#bytes += json.length
    for (const [oldest, { body }] of this.#known) {
      if (this.#known.size <= MOST_EVENTS && this.#bytes <= MOST_BYTES) break
      this.#known.delete(oldest)
      this.#bytes -= body.length
    }
    return event
  }

  /** The cursor of that sequence. */
  cursorAt(sequence: number): string {
    return this.#cached(sequence)?.matched.cursor ?? this.#reader.cursorAt(sequence)
  }

  /** The event at that sequence. An abort ends it early with `later`. */
  async find(sequence: number, signal: AbortSignal): Promise<EventLookup> {
    const event = this.#cached(sequence)
    if (event !== undefined) return { kind: 'event', event }
    const reader = this.#reader
    if (reader.replica.filling !== null || sequence > reader.latest) return { kind: 'later' }
    const { events } = await reader.read({
      after: sequence - 1,
      filter: null,
      limit: 1,
      signal,
      caller: 'webhooks',
    })
    const [found] = events
    if (found?.sequence === sequence) return { kind: 'event', event: this.of(found) }
    return signal.aborted || sequence >= reader.oldest ? { kind: 'later' } : { kind: 'dropped' }
  }

  /** The cached event of the present epoch; of another epoch nothing is kept. */
  #cached(sequence: number): DeliveryEvent | undefined {
    if (this.#reader.epoch !== this.#epoch) {
      this.#known.clear()
      this.#bytes = 0
      this.#epoch = this.#reader.epoch
    }
    return this.#known.get(sequence)
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
