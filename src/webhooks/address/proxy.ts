/**
 * Connects through the operator's proxy (`BRIDGE_WEBHOOK_PROXY`) with CONNECT to the checked address, so the proxy resolves no
 * names. Proxy variables of the environment are ignored.
 */
import { connect as netConnect, type Socket } from 'node:net'
import { Client } from 'undici'
import { messageOf, textOf } from '../../errors.ts'
import { ConnectFault } from './connect-fault.ts'
import { connected, secured } from './socket.ts'

/** A way through the proxy. */
export type EgressProxy = ReturnType<typeof createProxy>

/** The proxy at this address: http or https, with user and password where it asks for them. */
export function createProxy(url: string, ca: string | null) {
  const { origin, protocol, hostname, port: ownPort, username, password } = new URL(url)
  const isSecure = protocol === 'https:'
  const place = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: ownPort === '' ? (isSecure ? 443 : 80) : Number(ownPort),
  }
  const word = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString(
    'base64',
  )

  const reach = async (signal: AbortSignal): Promise<Socket> => {
    const socket = await connected(netConnect(place), signal)
    return isSecure ? await secured(socket, place.host, ca, signal) : socket
  }
  /** Asks for a tunnel; returns the proxy's answer with the socket. */
  const ask = async (path: string, signal: AbortSignal) => {
    const client = new Client(origin, {
      connect(_options, callback) {
        reach(signal).then(
          (socket) => callback(null, socket),
          (error: Error) => callback(error, null),
        )
      },
    })
    try {
      const headers = { host: path, ...(username !== '' && { 'proxy-authorization': `Basic ${word}` }) }
      const { statusCode, socket } = await client.connect({ path, headers, signal })
      return { statusCode, socket: socket as Socket }
    } finally {
      void client.destroy()
    }
  }

  return {
    /**
     * A tunnel to the address.
     * @throws ConnectFault `connect` where the proxy is down or refuses; what the signal is aborted with. Nothing is left open
     */
    async open(address: string, port: number, signal: AbortSignal): Promise<Socket> {
      const path = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
      const { statusCode, socket } = await ask(path, signal).catch((error: unknown) => {
        if (signal.aborted) throw signal.reason
        if (error instanceof ConnectFault && error.kind === 'no_socket') throw error
        throw new ConnectFault('connect', `the proxy cannot be used: ${reasonOf(error)}`)
      })
      if (statusCode >= 200 && statusCode < 300) return socket
      socket.destroy()
      throw new ConnectFault('connect', `the proxy answered ${statusCode}`)
    },
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? textOf(error.code) : messageOf(error)
}
