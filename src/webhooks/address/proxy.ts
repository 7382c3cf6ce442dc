/**
 * The operator's proxy (`BRIDGE_WEBHOOK_PROXY`). Owns CONNECT to the judged address, so that the proxy resolves nothing and
 * the guard holds behind it too. Refuses the proxy of the environment, and to judge where the proxy itself stands: that
 * is the operator's word.
 */
import type { Socket } from 'node:net'
import { Client } from 'undici'
import { ConnectFault } from './connect-fault.ts'

/** A way through the proxy. */
export interface EgressProxy {
  /**
   * A tunnel to the address.
   * @throws ConnectFault `connect` where the proxy is away or says no; what the signal is aborted with
   */
  open(address: string, port: number, signal: AbortSignal): Promise<Socket>
}

/** The proxy at this address: http or https, with user and password where it asks for them. */
export function createProxy(url: string, ca: string | null): EgressProxy {
  const { origin, username, password } = new URL(url)
  const word = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString(
    'base64',
  )
  return {
    async open(address, port, signal) {
      const path = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
      const client = new Client(origin, { connect: { allowH2: false, ...(ca !== null && { ca }) } })
      try {
        const { statusCode, socket } = await client.connect({
          path,
          headers: { host: path, ...(username !== '' && { 'proxy-authorization': `Basic ${word}` }) },
          signal,
        })
        if (statusCode >= 200 && statusCode < 300) return socket as Socket
        socket.destroy()
        throw new ConnectFault('connect', `the proxy answered ${statusCode}`)
      } catch (error) {
        if (signal.aborted) throw signal.reason
        if (error instanceof ConnectFault) throw error
        throw new ConnectFault('connect', `the proxy cannot be used: ${codeOf(error)}`)
      } finally {
        void client.destroy()
      }
    },
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
