/**
 * Sends one POST and reads its answer: the status, Retry-After and the beginning of the body. A longer body ends the
 * connection; redirects are not followed.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { textOf } from '../../errors.ts'
import { ConnectFault, type ConnectFaultKind } from '../address/connect-fault.ts'

/** What is sent. The body is encoded by the caller, once for all endpoints. */
export interface Post {
  path: string
  headers: Readonly<Record<string, string>>
  body: Uint8Array
  /** Asked at the last moment before the request leaves; false: it does not, and the exchange ends as if it were aborted. */
  mayLeave: () => boolean
}

/** How it ended. `fault` null: it was stopped before there was a status. */
export type ExchangeEnd =
  | { kind: 'answered'; status: number; retryAfter: string | null; excerpt: string | null }
  | { kind: 'failed'; fault: ConnectFaultKind | 'broken' | null; detail: string }

/** Where the exchange has got to: the request leaves now; the head of the answer is here. */
export type ExchangeStep = 'sending' | 'head'

/** The end of an exchange that was not to leave any more. */
export const STOPPED: ExchangeEnd = { kind: 'failed', fault: null, detail: 'stopped before it left' }

/** Most bytes of a body that are read; a longer one ends the connection. */
const MOST_BODY_BYTES = 16 * 1024
/** Bytes of the body that are kept. */
const EXCERPT_BYTES = 1024
/** Provisional answers (1xx) after which an answer is taken for broken. */
const MOST_PROVISIONAL = 16

/**
 * Sends and reads. Never rejects. When it is over before its end, the connection is closed; an answer whose status is known counts
 * with what was read of it. `onStep` is called at most once a step, in order.
 */
export function exchange(
  dispatcher: Dispatcher,
  { path, headers, body, mayLeave }: Post,
  signal: AbortSignal,
  onStep: (step: ExchangeStep) => void,
): Promise<ExchangeEnd> {
  return new Promise((resolve) => {
    const one = new Exchange(signal, mayLeave, onStep, resolve)
    if (signal.aborted) return one.cut('aborted')
    // A connection has one request at a time anyway: `blocking` would only have undici look at its queue once more.
    dispatcher.dispatch({ method: 'POST', path, headers, body, blocking: false }, one)
  })
}

/** What has come of the answer so far. A class for its methods on the prototype: made for every attempt. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal
  readonly #onAbort = (): void => this.cut('aborted')
  readonly #mayLeave: () => boolean
  readonly #onStep: (step: ExchangeStep) => void
  readonly #resolve: (end: ExchangeEnd) => void
  #controller: Dispatcher.DispatchController | null = null
  #isOver = false
  #hasBegun = false
  #provisional = 0
  /** null: not known yet. */
  #status: number | null = null
  #retryAfter: string | null = null
  #isEncoded = false
  #bytes = 0
  #kept: Buffer[] | null = null

  constructor(
    signal: AbortSignal,
    mayLeave: () => boolean,
    onStep: (step: ExchangeStep) => void,
    resolve: (end: ExchangeEnd) => void,
  ) {
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort, { once: true })
    this.#mayLeave = mayLeave
    this.#onStep = onStep
    this.#resolve = resolve
  }

  /** Ends it with what there is. */
  cut(reason: string): void {
    this.#finish({ kind: 'failed', fault: this.#signal.aborted ? null : 'broken', detail: reason })
    this.#controller?.abort(new Error(reason))
  }

  onRequestStart(started: Dispatcher.DispatchController): void {
    this.#controller = started
    // It waited for a connection, and meanwhile its attempt is over or the endpoint stopped: nothing may be sent any more.
    if (!this.#isOver && this.#mayLeave()) return this.#onStep('sending')
    this.#finish(STOPPED)
    started.abort(new Error('over'))
  }

  onResponseStarted(): void {
    this.#hasBegun = true
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200) {
      const encoding = firstOf(headers['content-encoding'])
      this.#status = status
      this.#retryAfter = firstOf(headers['retry-after'])
      this.#isEncoded = encoding !== null && encoding !== 'identity'
      this.#onStep('head')
    } else if (++this.#provisional > MOST_PROVISIONAL) this.cut('too many provisional answers')
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    const room = EXCERPT_BYTES - this.#bytes
    if (room > 0 && !this.#isEncoded && isFailure(this.#status)) {
      this.#kept ??= []
      this.#kept.push(Buffer.from(chunk.subarray(0, room)))
    }
    this.#bytes += chunk.length
    if (this.#bytes >= MOST_BODY_BYTES) this.cut('the body goes on')
  }

  onResponseEnd(): void {
    this.#finish({ kind: 'failed', fault: 'broken', detail: 'no status' })
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#finish(failure(error, this.#hasBegun))
  }

  /** `otherwise`: how it ended where no status came. */
  #finish(otherwise: ExchangeEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#resolve(this.#status === null ? otherwise : this.#answered(this.#status))
  }

  #answered(status: number): ExchangeEnd {
    const hasExcerpt = isFailure(status) && !this.#isEncoded
    const excerpt = hasExcerpt ? Buffer.concat(this.#kept ?? []).toString('utf8') : null
    return { kind: 'answered', status, retryAfter: this.#retryAfter, excerpt }
  }
}

function isFailure(status: number | null): boolean {
  return status === null || status < 200 || status >= 300
}

function firstOf(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null
}

/** A connection that broke before the first byte of an answer is `connect`, after it `broken`. */
function failure(error: Error, begun: boolean): ExchangeEnd {
  if (error instanceof ConnectFault) return { kind: 'failed', fault: error.kind, detail: error.message }
  const code = 'code' in error ? textOf(error.code) : error.name
  const closed = /^(UND_ERR_SOCKET|ECONNRESET|EPIPE|ECONNABORTED|ETIMEDOUT)$/.test(code)
  return { kind: 'failed', fault: closed && !begun ? 'connect' : 'broken', detail: code }
}
