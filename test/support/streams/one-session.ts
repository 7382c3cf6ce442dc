/** Runs one session of a stream on a store, with a client that records what it was sent. */
import type { Reader } from '../../../src/archive/reading/reader.ts'
import type { Filter } from '../../../src/core/filter/filter.ts'
import { SendBuffers } from '../../../src/http/bounds/send-buffers.ts'
import { FanoutIndex } from '../../../src/streams/fanout/fanout-index.ts'
import { FrameBatches } from '../../../src/streams/fanout/frame-batches.ts'
import { RecentSends } from '../../../src/streams/fanout/recent-sends.ts'
import {
  Session,
  type SessionClient,
  type SessionEnd,
  type SessionParts,
} from '../../../src/streams/fanout/session.ts'
import { TickBudget } from '../../../src/streams/limits/tick-budget.ts'
import { TimerWheel } from '../../../src/streams/limits/timer-wheel.ts'
import { RETRY_FRAME, sseFramingOf } from '../../../src/streams/transport/sse-frames.ts'
import type { Store } from '../store.ts'
import { createManualClock } from '../time/manual-clock.ts'
import { UNKNOWN_UPSTREAM } from '../unknown-upstream.ts'
import { createSseParser, type SseMessage } from './sse-parser.ts'

/** Parses what a client that was cut after `bytes` would have understood. */
export function parse(bytes: Buffer): { messages: SseMessage[]; lastId: string } {
  const parser = createSseParser()
  const messages = parser.feed(bytes.toString())
  return { messages, lastId: parser.lastId }
}

/** Waits some ticks of the event loop, in which the archive is read. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** The parts that the sessions of one node share. */
export function node(reader: Reader, upstream: SessionParts['upstream'] = () => UNKNOWN_UPSTREAM) {
  const clock = createManualClock()
  const stopping = new AbortController()
  const sendBuffers = new SendBuffers()
  const frameBatches = new FrameBatches(reader, clock, sendBuffers, stopping.signal)
  const fanoutIndex = new FanoutIndex(reader, clock, sendBuffers)
  const running = fanoutIndex.run(stopping.signal)
  const timerWheel = new TimerWheel(clock, new TickBudget())
  const recentSends = new RecentSends(clock)
  const shared = { frameBatches, fanoutIndex, timerWheel, recentSends }
  const parts = { reader, clock, ...shared, upstream, stopping: stopping.signal }
  return { parts, stop: () => stopping.abort(), running }
}

/** A session whose client records its messages; a slow one is full after each write until `onRoom`. */
class TestClient implements SessionClient {
  readonly framing = sseFramingOf(() => UNKNOWN_UPSTREAM)
  readonly written: Buffer[] = []
  readonly ended = Promise.withResolvers<SessionEnd>()
  /** When the log stored the first event of each write, as its account is told. */
  readonly committedMs: (number | null)[] = []
  readonly account = {
    onSent: (_: number, committedMs: number | null) => void this.committedMs.push(committedMs),
  }
  readonly writer = {
    isFull: false,
    write: (frames: Buffer) => {
      this.written.push(frames)
      this.writer.isFull = this.#isSlow
    },
  }
  readonly #isSlow: boolean

  constructor(isSlow: boolean) {
    this.#isSlow = isSlow
  }
  onEnd(end: SessionEnd): void {
    this.ended.resolve(end)
  }
  onFault(error: unknown): void {
    this.ended.reject(error)
  }
}

/** Starts a session from a position of that store. */
export function open(
  store: Store,
  options: { after: number; cursor?: string; filter?: Filter; slow?: boolean; endsMs?: number },
  { parts, stop, running } = node(store.reader),
) {
  const client = new TestClient(options.slow === true)
  const session = new Session(parts, client, {
    filter: options.filter ?? null,
    start: {
      epoch: store.reader.epoch,
      after: options.after,
      cursor: options.cursor ?? store.reader.cursorAt(options.after),
      localGap: null,
    },
    opening: RETRY_FRAME,
    endsMs: options.endsMs ?? Number.POSITIVE_INFINITY,
  })
  session.start()
  return {
    clock: parts.clock,
    session,
    ended: client.ended.promise,
    text: () => Buffer.concat(client.written),
    writes: () => client.written.length,
    committedMs: client.committedMs,
    room(): void {
      client.writer.isFull = false
      session.onRoom()
    },
    stopNode: stop,
    async stop(): Promise<void> {
      session.stop()
      stop()
      await running
    },
  }
}

/** Those of the events among these messages. */
export const sequences = (messages: SseMessage[]): number[] =>
  messages
    .filter((message) => message.event === 'disclosure')
    .map((message) => Number((JSON.parse(message.data) as { sequence: string }).sequence))
