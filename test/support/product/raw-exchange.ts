/** Sends bytes to a port and reads what comes back until the connection ends. */
import { connect } from 'node:net'

/** What came back. */
export interface RawAnswer {
  /** Statuses of all answers, without the provisional ones. */
  statuses: number[]
  /** The whole answer as text. */
  text: string
}

/** Longer than the product lets any half request wait. */
const PATIENCE_MS = 20_000

/**
 * Resolves when the server closes the connection, or when a stream begins.
 * Rejects when nothing ends it in 20 s. With `isCut` the client ends its side after the bytes.
 */
export function exchange(port: number, bytes: Buffer, isCut = false): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  const patience = setTimeout(() => {
    socket.destroy()
    reject(new Error(`no end after ${PATIENCE_MS} ms: ${text.slice(0, 200)}`))
  }, PATIENCE_MS)
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    if (isWhole(text)) socket.destroy()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    clearTimeout(patience)
    const found = [...text.matchAll(/^HTTP\/1\.[01] (\d{3}) /gm)].map(([, status]) => Number(status))
    resolve({ statuses: found.filter((status) => status === 101 || status >= 200), text })
  })
  socket.on('connect', () => {
    socket.write(bytes)
    if (isCut) socket.end()
  })
  return promise
}

/** A stream has begun, or an upgrade. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  return end >= 0 && /^(HTTP\/1\.1 101 |.*\r\ncontent-type: text\/event-stream)/is.test(text.slice(0, end))
}
