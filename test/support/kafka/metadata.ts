/** Checks whether a broker answers, with one Metadata request over a socket of its own. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { apiKeys, createFrameSplitter, requestFrame } from './proxy/frames.ts'

/** A broker as a Metadata response names it. */
export interface NamedBroker {
  nodeId: number
  host: string
  port: number
}

/** Version of the request: the newest in the classic encoding that both release lines answer. */
const METADATA_VERSION = 5
const ANSWER_TIMEOUT_MS = 2_000
const RETRY_MS = 50

/**
 * The brokers that the one at `address` (`host:port`, without encryption) knows.
 * @throws Error when it cannot be reached, closes the connection or does not answer within two seconds
 */
export async function namedBrokers(address: string): Promise<NamedBroker[]> {
  const colon = address.lastIndexOf(':')
  const socket = connect({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)) })
  const frames = createFrameSplitter()
  try {
    return await new Promise((resolve, reject) => {
      socket.setTimeout(ANSWER_TIMEOUT_MS, () => reject(new Error(`${address} does not answer`)))
      socket.on('error', reject)
      socket.on('close', () => reject(new Error(`${address} closed the connection`)))
      socket.on('connect', () => socket.write(metadataRequest()))
      socket.on('data', (chunk: Buffer) => {
        try {
          const [frame] = frames.push(chunk)
          if (frame !== undefined) resolve(brokersIn(frame))
        } catch (error) {
          reject(error)
        }
      })
    })
  } finally {
    socket.destroy()
  }
}

/**
 * Waits until the broker at `address` names itself (`nodeId`), or any broker where no id is given.
 * @throws Error with the last answer when `timeoutMs` is over, or at once what `giveUp` returns, e.g. that the process
 * has ended
 */
export async function untilNamed(
  address: string,
  options: { nodeId?: number; timeoutMs: number; giveUp?: () => Error | null },
): Promise<void> {
  const deadline = performance.now() + options.timeoutMs
  for (;;) {
    const failure = options.giveUp?.()
    if (failure) throw failure
    const found = await namedBrokers(address).catch((error: Error) => error)
    const named = (broker: NamedBroker): boolean =>
      options.nodeId === undefined || broker.nodeId === options.nodeId
    if (!(found instanceof Error) && found.some(named)) return
    if (performance.now() > deadline) {
      const last = found instanceof Error ? found.message : `it names ${found.length} brokers`
      throw new Error(`${address} is not ready after ${options.timeoutMs} ms: ${last}`)
    }
    await sleep(RETRY_MS)
  }
}

function metadataRequest(): Buffer {
  // No topics (an empty array), and no automatic creation.
  const body = Buffer.from([0, 0, 0, 0, 0])
  const header = { apiKey: apiKeys.metadata, apiVersion: METADATA_VERSION, correlationId: 1 }
  return requestFrame(header, 'disclosure-bridge-test', body)
}

/** Length, correlation id and throttle time, four bytes each, stand before the brokers. */
const BROKERS_OFFSET = 12

function brokersIn(frame: Buffer): NamedBroker[] {
  let at = BROKERS_OFFSET
  const int32 = (): number => {
    at += 4
    return frame.readInt32BE(at - 4)
  }
  const text = (): string => {
    const length = frame.readInt16BE(at)
    const start = at + 2
    at = start + Math.max(0, length)
    return frame.toString('utf8', start, at)
  }
  return Array.from({ length: int32() }, () => {
    const broker = { nodeId: int32(), host: text(), port: int32() }
    text() // rack, which may be null
    return broker
  })
}
