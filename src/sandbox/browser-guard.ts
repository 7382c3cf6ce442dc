/**
 * Refuses requests that a web page on this machine could have sent to the sandbox's admin API: there is no token, so a
 * page of a stranger could otherwise arm faults, or read answers under a name that leads here (DNS rebinding).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback, parseIp } from '../core/ip.ts'

/**
 * How a request with these headers is refused; null where it is taken. `listensOn`: the address of the listener.
 *
 * On loopback the Host must be loopback. Elsewhere it is an address or a name without a dot, as in a container network: a
 * stranger's name has one. A body must be `application/json`, for which a browser asks first, and nothing here allows it.
 */
export function pageRefusal(
  headers: IncomingHttpHeaders,
  listensOn: string,
): { status: number; message: string; hint: string } | null {
  const host = URL.parse(`http://${headers.host ?? ''}`)?.hostname.replace(/^\[(.*)\]$/, '$1') ?? ''
  const isNear = !isLoopback(listensOn) && (parseIp(host) !== null || /^[\w-]+$/.test(host))
  if (!isLoopback(host) && !isNear) {
    const hint = 'Use http://127.0.0.1 and the admin port.'
    return { status: 403, message: 'the header Host does not name this machine', hint }
  }
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (!hasBody || type === 'application/json') return null
  const hint = 'Send Content-Type: application/json.'
  return { status: 415, message: 'the body is not application/json', hint }
}
