/** Waits until a socket is connected or secured by TLS, and destroys it where that fails or the signal aborts. */
import { isIP, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { ConnectFault, type ConnectFaultKind } from './connect-fault.ts'

/**
 * Resolves with the socket once TCP is connected.
 * @throws ConnectFault `connect`; what the signal is aborted with
 */
export function connected(socket: Socket, signal: AbortSignal): Promise<Socket> {
  return settled(socket, 'connect', 'connect', signal)
}

/**
 * TLS over the socket, with a certificate for the host (a name or an IP address) by these authorities; `ca` null: those of
 * the system. Explicit where Node would ask the environment: no variable turns the check of certificates off.
 * @throws ConnectFault `tls`; what the signal is aborted with
 */
export function secured(
  socket: Socket,
  host: string,
  ca: string | null,
  signal: AbortSignal,
): Promise<Socket> {
  const wrapped = tlsConnect({
    socket,
    host,
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(ca !== null && { ca }),
  })
  return settled(wrapped, 'secureConnect', 'tls', signal)
}

/** The socket once the event has come; destroyed where an error or the signal comes first. */
function settled<S extends Socket>(
  socket: S,
  event: 'connect' | 'secureConnect',
  kind: ConnectFaultKind,
  signal: AbortSignal,
): Promise<S> {
  return new Promise((resolve, reject) => {
    const end = (fault: Error | null): void => {
      socket.off(event, onDone)
      socket.off('close', onClose)
      signal.removeEventListener('abort', onAbort)
      if (fault === null) {
        socket.off('error', onError)
        resolve(socket)
      } else {
        // The listener for errors stays: a destroyed socket may still report one.
        socket.destroy()
        reject(fault)
      }
    }
    const onDone = (): void => end(null)
    const onError = (error: NodeJS.ErrnoException): void =>
      end(new ConnectFault(kind, error.code ?? error.message))
    const onClose = (): void => end(new ConnectFault(kind, 'closed'))
    const onAbort = (): void => end(signal.reason as Error)
    socket.once(event, onDone)
    socket.on('error', onError)
    socket.once('close', onClose)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}
