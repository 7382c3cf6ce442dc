/**
 * Draws from the ends of attempts how an endpoint is: whether it answers, asks for a pause, or has failed for so long
 * that it is disabled.
 */
import type { AttemptEnd } from '../../core/attempt-end.ts'
import type { CountedFailure } from './endpoint-breaker.ts'
import { Failing, type StoredCondition } from './endpoint-failing.ts'
import type { EndContext, Loaded } from './endpoint-state.ts'
import { EndpointTrouble } from './endpoint-trouble.ts'
import { isAnswer, pauseAskedMs } from './outcome.ts'
import { SendPace } from './send-pace.ts'

/** A shorter pause that a Retry-After asks for is not stored: a restart takes as long. */
const STORED_PAUSE_MS = 10_000

/** The condition of one endpoint. */
export class EndpointCondition {
  readonly pace: SendPace
  /** What the owner is to be notified of. */
  readonly trouble: EndpointTrouble
  readonly #failing: Failing
  #isChanged = false

  /** Continues from what was stored. */
  constructor(
    loaded: Pick<Loaded, 'failingSinceMs' | 'failing' | 'heldUntilMs' | 'heldSinceMs' | 'trouble'>,
  ) {
    this.#failing = new Failing(loaded)
    this.trouble = new EndpointTrouble(loaded.trouble)
    const { heldUntilMs, heldSinceMs } = loaded
    const hold = heldUntilMs === undefined ? null : { untilMs: heldUntilMs, sinceMs: heldSinceMs }
    this.pace = new SendPace({ isFailing: this.#failing.isLikelyGone, hold })
  }

  /** Since when no attempt succeeded, ms since 1970; null while the last one did. */
  get failingSinceMs(): number | null {
    return this.#failing.sinceMs
  }

  /** It differs so much from what is stored that it must be stored. */
  get isChanged(): boolean {
    return this.#isChanged || this.trouble.isChanged
  }

  /** What is stored of it now. */
  take(): StoredCondition {
    this.#isChanged = false
    const { hold } = this.pace
    const trouble = this.trouble.take()
    const held = hold !== null && { heldUntilMs: hold.untilMs, heldSinceMs: hold.sinceMs }
    return { ...this.#failing.stored, ...held, ...(trouble !== undefined && { trouble }) }
  }

  /** Whether it has failed for so long that it is disabled. */
  isTooLong(nowMs: number): boolean {
    return this.#failing.isTooLong(nowMs)
  }

  /** An attempt was delivered. */
  succeeded(nowMs: number): void {
    this.pace.answered()
    this.trouble.succeeded(nowMs)
    if (this.#failing.ended()) this.#isChanged = true
  }

  /** An attempt was not delivered. */
  failed(
    end: AttemptEnd,
    delivery: Pick<CountedFailure, 'sequence' | 'isFirst'>,
    { nowMs, chance, isSent }: EndContext,
  ): void {
    const pauseMs = pauseAskedMs(end, nowMs)
    if (pauseMs > 0) this.pace.pause(pauseMs, nowMs)
    else if (isAnswer(end)) this.pace.answered()
    else this.pace.failed({ ...delivery, isSent }, nowMs, chance)
    if (this.#failing.failed(nowMs) || pauseMs >= STORED_PAUSE_MS) this.#isChanged = true
  }

  /** The endpoint is declared healthy: earlier failures no longer count. */
  repaired(): void {
    if (this.#failing.ended()) this.#isChanged = true
    this.pace.reset()
  }
}
