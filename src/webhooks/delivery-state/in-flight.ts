/**
 * Keeps the requests of an endpoint that are in flight, each with one delivery or a batch of them. A request takes one
 * slot, which is free when the outcomes of all its deliveries are durable.
 */
import type { RetryRow } from './delivery-rows.ts'
import type { Matched } from './endpoint-state.ts'
import type { Sort } from './scheduling-policy.ts'

/** A request that was started. */
export interface RequestInFlight {
  /** Its deliveries whose outcomes are not durable yet, by sequence, in their order. */
  readonly deliveries: Map<number, Matched>
  /** Tries before this one. */
  tries: number
  /** How many of these tries followed a Retry-After. */
  asked: number
  sort: Sort
  /** The repairs of the endpoint before it was sent. */
  repairs: number
}

/** The requests in flight of one endpoint. */
export class RequestsInFlight {
  readonly #bySequence = new Map<number, RequestInFlight>()
  readonly #requests = new Set<RequestInFlight>()

  /** Slots that are taken. */
  get slots(): number {
    return this.#requests.size
  }

  /** Slots that retries and replays have taken. */
  get slotsBehind(): number {
    let count = 0
    for (const { sort } of this.#requests) if (sort !== 'first') count += 1
    return count
  }

  /** All deliveries in flight. */
  *deliveries(): Generator<Matched> {
    for (const request of this.#requests) yield* request.deliveries.values()
  }

  /** The request with the delivery of that sequence. */
  get(sequence: number): RequestInFlight | undefined {
    return this.#bySequence.get(sequence)
  }

  /** Whether the delivery of that sequence is in flight. */
  has(sequence: number): boolean {
    return this.#bySequence.has(sequence)
  }

  /** Adds deliveries that are sent in one request. */
  add(
    deliveries: readonly Matched[],
    { tries, asked = 0 }: Pick<RetryRow, 'tries' | 'asked'>,
    { sort, repairs }: Pick<RequestInFlight, 'sort' | 'repairs'>,
  ): void {
    const members = new Map(deliveries.map((delivery) => [delivery.sequence, delivery]))
    const request = { deliveries: members, tries, asked, sort, repairs }
    this.#requests.add(request)
    for (const sequence of members.keys()) this.#bySequence.set(sequence, request)
  }

  /** The delivery is in flight no longer. */
  delete(sequence: number): void {
    const request = this.#bySequence.get(sequence)
    this.#bySequence.delete(sequence)
    request?.deliveries.delete(sequence)
    if (request?.deliveries.size === 0) this.#requests.delete(request)
  }
}
