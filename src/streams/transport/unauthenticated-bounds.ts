/** Bounds what a WebSocket client may do before it has authenticated: the bytes that it may send, and its time. */
import type { Duplex } from 'node:stream'
import type { Clock } from '../../lifecycle/clock.ts'
import { StreamRefusal, tooLarge } from './refusal.ts'

/** Bytes that a client may send before it has authenticated, frame headers included. */
const MAX_BYTES_BEFORE_AUTH = 4 * 1024
const AUTH_TIMEOUT_MS = 10_000

/** Calls `refuse` with the reason when the client sends too much or takes too long. Returns the function that lifts the bounds. */
export function boundUnauthenticated(
  socket: Duplex,
  clock: Clock,
  refuse: (refusal: StreamRefusal) => void,
): () => void {
  let bytes = 0
  const count = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes > MAX_BYTES_BEFORE_AUTH) refuse(tooLarge(MAX_BYTES_BEFORE_AUTH, ' before authentication'))
  }
  const cancel = clock.after(AUTH_TIMEOUT_MS, () =>
    refuse(new StreamRefusal(404, 'no authentication within 10 s of connecting', 4001)),
  )
  socket.on('data', count)
  return () => {
    cancel()
    socket.off('data', count)
  }
}
