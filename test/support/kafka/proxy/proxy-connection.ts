/** Forwards one client's connection through a proxy, frame by frame in both directions, as `proxy-rules.ts` decides. */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { apiKeys, correlationOf, createFrameSplitter, namesTopic, requestHeader } from './frames.ts'
import type { PassingRequest, ProxyRules } from './proxy-rules.ts'

/** A connection to cut. */
export interface ProxyConnection {
  /** Resets the client's socket and drops frames in flight, except held requests. */
  cut(): void
  /** Ends both sides, with any frames in flight. */
  destroy(): void
  /** Resolves when both sides are closed. Rejects if one sent data that is not Kafka. */
  readonly ended: Promise<void>
}

/** Joins the two sockets, with the rules between them. */
export function joinSockets(client: Socket, broker: Socket, rules: ProxyRules): ProxyConnection {
  /** Each pending request at the broker, by correlation id. */
  const asked = new Map<number, PassingRequest>()
  /** The requests that added partitions to the transaction that is open on this connection. */
  let joining: Buffer[] = []
  const toBroker = createShard<PassingRequest>(rules, (frame, passing) => {
    asked.set(requestHeader(frame).correlationId, passing)
    broker.write(frame)
  })
  const toClient = createShard<null>(rules, (frame) => {
    if (!client.destroyed) client.write(frame)
  })
  let heldCount = 0
  let failure: Error | null = null

  /** The broker's side stays open without its client while frames are in flight to it. */
  const endWithClient = async (): Promise<void> => {
    await toBroker.drained()
    if (client.destroyed && heldCount === 0 && asked.size === 0) broker.destroySoon()
  }
  const takeRequest = (frame: Buffer): void => {
    const passing = passingRequest(frame)
    const keep = rules.request(passing)
    if (keep === null) return toBroker.push(frame, passing)
    heldCount++
    keep({
      send() {
        heldCount--
        if (broker.destroyed) return false
        toBroker.push(frame, passing)
        return true
      },
    })
  }
  /** Both are asked of the transaction's coordinator, which kafkajs reaches over one connection. */
  const passingRequest = (frame: Buffer): PassingRequest => {
    const { apiKey } = requestHeader(frame)
    const transaction = joining
    if (apiKey === apiKeys.addPartitionsToTxn) joining.push(frame)
    if (apiKey === apiKeys.endTxn) joining = []
    const telling = apiKey === apiKeys.endTxn ? transaction : [frame]
    const touches = (topic: string): boolean => telling.some((told) => namesTopic(told, topic))
    return { apiKey, touches }
  }
  const takeReply = (frame: Buffer): void => {
    const correlationId = correlationOf(frame)
    const request = asked.get(correlationId)
    asked.delete(correlationId)
    // No rule catches a response to a disconnected client.
    if (client.destroyed) endWithClient()
    else if (request === undefined || !rules.drops(request)) toClient.push(frame, null)
  }
  const feed = (from: Socket, take: (frame: Buffer) => void): void => {
    const splitter = createFrameSplitter()
    from.on('data', (chunk: Buffer) => {
      try {
        splitter.push(chunk).forEach(take)
      } catch (error) {
        failure = error as Error
        destroy()
      }
    })
    // A socket error shows in its closing, which closes the other side.
    from.on('error', () => undefined)
  }
  const destroy = (): void => {
    client.destroy()
    broker.destroy()
  }
  feed(client, takeRequest)
  feed(broker, takeReply)
  client.on('close', endWithClient)
  broker.on('close', () => toClient.drained().then(() => client.destroySoon()))

  return {
    ended: Promise.all([closed(client), closed(broker)]).then(() => {
      if (failure !== null) throw failure
    }),
    destroy,
    cut() {
      toBroker.clear()
      toClient.clear()
      client.resetAndDestroy()
    },
  }
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

/** One direction: frames leave in the order they came, none before its time, none while a black hole is open. */
function createShard<T>(rules: ProxyRules, write: (frame: Buffer, about: T) => void) {
  let waiting: { frame: Buffer; about: T; leavesAt: number }[] = []
  let running = false
  const idle: (() => void)[] = []
  const run = async (): Promise<void> => {
    running = true
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const leftMs = next.leavesAt - performance.now()
      if (leftMs > 0) await sleep(leftMs)
      await rules.open()
      if (waiting[0] !== next) continue // thrown away meanwhile
      waiting.shift()
      write(next.frame, next.about)
    }
    running = false
    for (const resolve of idle.splice(0)) resolve()
  }
  return {
    push(frame: Buffer, about: T): void {
      waiting.push({ frame, about, leavesAt: performance.now() + rules.delayMs() })
      if (!running) run()
    },
    clear(): void {
      waiting = []
    },
    drained: async (): Promise<void> => {
      while (running) await new Promise<void>((resolve) => idle.push(resolve))
    },
  }
}
