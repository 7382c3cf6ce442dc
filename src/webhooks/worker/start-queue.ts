/**
 * Decides which endpoint starts deliveries next: a few for each in turn, so that a burst reaches every endpoint at
 * once.
 *
 * Two numbers are limited: deliveries started per event-loop tick, and those in flight that were started within the
 * last 50 ms. Responses are thus read while requests are sent, so connections are reused; ten thousand requests at once
 * would wait in the receiver's queue. A delivery that hangs holds up the others for an instant only. Those in flight take
 * places, of which a tenant has a share; without a place an endpoint waits, and tenants get free places in rotation.
 */
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Places } from '../../lifecycle/places.ts'

/** Deliveries started between two turns of the event loop: some five milliseconds of work. */
const BATCH = 32
/** Deliveries started for one endpoint in its turn: they end at about the same time, and their outcomes are one write. */
export const STARTS_PER_TURN = 4
/**
 * Most deliveries that were started within `RECENT_MS` and are in flight: receivers near by set the pace, those that are far
 * or hang do not. Together the two let five thousand a second start at least, which is what one core sends.
 */
export const MAX_RECENTLY_STARTED = 256
/** For how long a delivery counts as recently started. */
export const RECENT_MS = 50

/** An endpoint that has deliveries to start. */
export interface Starter {
  /** Whose places its deliveries take. */
  readonly tenant: string
  /** Starts one; the promise settles when it has ended. Null where there is none for now. Never throws. */
  startNext(): Promise<unknown> | null
  /** It has started nothing for some time: it goes first and gets one, so a burst reaches all before any has more. */
  isIdle(): boolean
}

/** The queue of a process. */
export class StartQueue {
  readonly #clock: Clock
  readonly #places: Places
  /** Idle endpoints in the order in which they came: before all others. */
  readonly #idle = new Set<Starter>()
  /** The others, in the order of their turns. */
  readonly #waiting = new Set<Starter>()
  /** By tenant: endpoints that found no place. */
  readonly #withoutPlace = new Map<string, Set<Starter>>()
  readonly #recentlyStarted = new Set<Promise<unknown>>()
  #onRoom = (): void => undefined
  #isRunning = false

  constructor(clock: Clock, places: Places) {
    this.#clock = clock
    this.#places = places
  }

  /** Enqueues the endpoint. Idle endpoints go before busy ones; re-adding keeps the position. Starts at once where nobody waits. */
  add(starter: Starter): void {
    if (!starter.isIdle()) this.#waiting.add(starter)
    else if (!this.#waiting.has(starter)) this.#idle.add(starter)
    if (!this.#isRunning) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    this.#startBatch()
    while (this.#idle.size + this.#waiting.size > 0) {
      if (this.#recentlyStarted.size >= MAX_RECENTLY_STARTED) await this.#room()
      await yieldToEventLoop()
      this.#startBatch()
    }
    this.#isRunning = false
  }

  #startBatch(): void {
    let left = BATCH
    for (const group of [this.#idle, this.#waiting]) {
      for (const starter of group) {
        if (left <= 0 || this.#recentlyStarted.size >= MAX_RECENTLY_STARTED) return
        group.delete(starter)
        left -= Math.max(1, this.#startTurn(starter))
      }
    }
  }

  /** Starts deliveries of one endpoint, which stays queued as long as it has more. Returns how many. */
  #startTurn(starter: Starter): number {
    const most = starter.isIdle() ? 1 : STARTS_PER_TURN
    for (let started = 0; started < most; started++) {
      const free = this.#places.take(starter.tenant)
      if (typeof free === 'string') {
        this.#waitForPlace(starter)
        return started
      }
      const delivery = starter.startNext()
      if (delivery === null) {
        free()
        this.#passPlaceOn()
        return started
      }
      this.#recentlyStarted.add(delivery)
      const onEnd = (): void => {
        free()
        this.#passPlaceOn()
        if (this.#recentlyStarted.delete(delivery)) this.#onRoom()
      }
      delivery.then(onEnd, onEnd)
    }
    this.#waiting.add(starter)
    return most
  }

  #waitForPlace(starter: Starter): void {
    const same = this.#withoutPlace.get(starter.tenant) ?? new Set()
    this.#withoutPlace.set(starter.tenant, same.add(starter))
  }

  /** A place is free: queues one endpoint of the next tenant that may have it. One that starts nothing passes it on. */
  #passPlaceOn(): void {
    for (const [tenant, starters] of this.#withoutPlace) {
      if (!this.#places.hasRoomFor(tenant)) continue
      const [next] = starters
      this.#withoutPlace.delete(tenant)
      if (next === undefined) continue
      starters.delete(next)
      if (starters.size > 0) this.#withoutPlace.set(tenant, starters)
      return this.add(next)
    }
  }

  /** Resolves when a recently started delivery has ended, or all of them count no longer as recent. */
  async #room(): Promise<void> {
    const present = [...this.#recentlyStarted]
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onRoom = resolve
    const cancel = this.#clock.after(RECENT_MS, () => {
      for (const delivery of present) this.#recentlyStarted.delete(delivery)
      resolve()
    })
    await promise
    cancel()
  }
}
