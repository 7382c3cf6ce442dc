/**
 * One POST and its answer on connections of one address. Owns what is read of an answer: the status, Retry-After, and the
 * beginning of the body, which ends the connection where it goes on. Refuses to follow redirects, to unpack, to retry and
 * to measure time.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { ConnectFault, type ConnectFaultKind } from './address/connect-fault.ts'
import type { Stop } from './attempt-watch.ts'

/** What is sent. The body is encoded by the caller, once for all endpoints. */
export interface Post {
  path: string
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}

/** How it ended. `fault` null: it was stopped before there was a status. */
export type ExchangeEnd =
  | { kind: 'answered'; status: number; retryAfter: string | null; excerpt: string | null }
  | { kind: 'failed'; fault: ConnectFaultKind | 'broken' | null; detail: string }

/** Where the exchange has got to: the request leaves now; the head of the answer is here. */
export type ExchangeStep = 'sending' | 'head'

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
  post: Post,
  stop: Stop,
  onStep: (step: ExchangeStep) => void,
): Promise<ExchangeEnd> {
  return new Promise((resolve) => {
    const answer = createAnswer()
    let controller: Dispatcher.DispatchController | null = null
    let over = false
    const finish = (end: ExchangeEnd): void => {
      if (over) return
      over = true
      stop.onOver(null)
      resolve(end)
    }
    const cut = (reason: string): void => {
      finish(answer.end() ?? { kind: 'failed', fault: stop.isOver ? null : 'broken', detail: reason })
      controller?.abort(new Error(reason))
    }
    const onOver = (): void => cut('aborted')
    if (stop.isOver) return onOver()
    stop.onOver(onOver)
    dispatcher.dispatch(
      { method: 'POST', path: post.path, headers: post.headers, body: post.body },
      {
        onRequestStart(started) {
          controller = started
          // It waited for a connection, and its attempt is over meanwhile: nothing may be sent any more.
          if (over) started.abort(new Error('over'))
          else onStep('sending')
        },
        onResponseStarted: () => answer.begin(),
        onResponseStart(_controller, status, headers) {
          if (status >= 200) {
            answer.head(status, headers)
            onStep('head')
          } else if (answer.provisional() > MOST_PROVISIONAL) cut('too many provisional answers')
        },
        onResponseData(_controller, chunk) {
          if (answer.data(chunk) >= MOST_BODY_BYTES) cut('the body goes on')
        },
        onResponseEnd: () => finish(answer.end() ?? { kind: 'failed', fault: 'broken', detail: 'no status' }),
        onResponseError: (_controller, error) => finish(answer.end() ?? failure(error, answer.begun())),
      },
    )
  })
}

/** What has come of the answer so far. */
function createAnswer() {
  const seen = { begun: false, provisional: 0, bytes: 0, encoded: false }
  let head: { status: number; retryAfter: string | null } | null = null
  const kept: Buffer[] = []
  return {
    begin: (): void => {
      seen.begun = true
    },
    begun: () => seen.begun,
    provisional: () => ++seen.provisional,
    head(status: number, headers: IncomingHttpHeaders): void {
      head = { status, retryAfter: firstOf(headers['retry-after']) }
      const encoding = firstOf(headers['content-encoding'])
      seen.encoded = encoding !== null && encoding !== 'identity'
    },
    /** Bytes of body so far, this chunk included. */
    data(chunk: Buffer): number {
      const room = EXCERPT_BYTES - seen.bytes
      if (room > 0 && !seen.encoded && isFailure(head?.status))
        kept.push(Buffer.from(chunk.subarray(0, room)))
      seen.bytes += chunk.length
      return seen.bytes
    },
    /** Null where there is no status yet. */
    end(): ExchangeEnd | null {
      if (head === null) return null
      const excerpt = isFailure(head.status) && !seen.encoded ? Buffer.concat(kept).toString('utf8') : null
      return { kind: 'answered', ...head, excerpt }
    },
  }
}

function isFailure(status: number | undefined): boolean {
  return status === undefined || status < 200 || status >= 300
}

function firstOf(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null
}

/** A connection that broke before the first byte of an answer is `connect`, after it `broken`. */
function failure(error: Error, begun: boolean): ExchangeEnd {
  if (error instanceof ConnectFault) return { kind: 'failed', fault: error.kind, detail: error.message }
  const code = 'code' in error ? String(error.code) : error.name
  const closed = /^(UND_ERR_SOCKET|ECONNRESET|EPIPE|ECONNABORTED|ETIMEDOUT)$/.test(code)
  return { kind: 'failed', fault: closed && !begun ? 'connect' : 'broken', detail: code }
}
