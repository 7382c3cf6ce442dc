/** Waits until a socket is connected or secured by TLS, and destroys it where that fails or the signal aborts. */
import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { ConnectFault, type ConnectFaultKind } from './connect-fault.ts'

/** Errors of a machine that has no open file or port left for a connection. */
const NO_SOCKET: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL'])

/**
 * Resolves with the socket once TCP is connected.
 * @throws ConnectFault `connect` or `no_socket`; what the signal is aborted with
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
async function settled(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  kind: ConnectFaultKind,
  signal: AbortSignal,
): Promise<Socket> {
  try {
    await once(socket, event, { signal })
    return socket
  } catch (error) {
    // A destroyed socket may still report an error.
    socket.on('error', () => undefined).destroy()
    if (signal.aborted) throw signal.reason
    const { code, message } = error as NodeJS.ErrnoException
    throw new ConnectFault(NO_SOCKET.has(code ?? '') ? 'no_socket' : kind, code ?? message)
  }
}
