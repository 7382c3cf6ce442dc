/**
 * Defines the error of a connection that could not be made. undici passes it on to the request that waits for the
 * connection.
 */

/**
 * `connect`: no TCP connection, or the proxy refused. `tls`: no handshake, or a certificate for another name. `no_socket`: this
 * machine has no open file or port left, which says nothing of the receiver.
 */
export type ConnectFaultKind = 'connect' | 'tls' | 'blocked' | 'timeout' | 'no_socket'

/** A connection that was not made. The message is for the operator. */
export class ConnectFault extends Error {
  readonly kind: ConnectFaultKind

  constructor(kind: ConnectFaultKind, message: string) {
    super(message)
    this.name = 'ConnectFault'
    this.kind = kind
  }
}
