/**
 * Connects to one IP address that webhooks may reach: TCP, a check of the socket's remote address, then TLS for the
 * host name. Not one byte reaches another host.
 */
import { connect as netConnect, type Socket } from 'node:net'
import type { Clock } from '../../lifecycle/clock.ts'
import { ConnectFault } from './connect-fault.ts'
import { addressRefusal } from './guard.ts'
import type { WebhookTarget } from './judge-url.ts'
import type { EgressProxy } from './proxy.ts'
import { type AddressRules, judgeAddress } from './rules.ts'
import { connected, secured } from './socket.ts'
import { isSameAddress } from './special-nets.ts'

/** Begins a TCP connection to an IP address. The machine's is `net.connect`. */
export type Dial = (address: string, port: number) => Socket

/** What every connection of a process has in common. */
export interface ConnectOptions {
  rules: AddressRules
  clock: Clock
  /** Limit for everything up to the end of the handshake. */
  connectTimeoutMs: number
  /** PEM of the authorities to trust; null: those of the system. */
  ca: string | null
  /** null: straight to the address. */
  proxy: EgressProxy | null
  dial: Dial
}

/** The machine's own way to connect. */
export const systemDial: Dial = (host, port) => netConnect({ host, port })

/**
 * A socket on which a request may be sent.
 * @throws ConnectFault `connect`, `tls`, `blocked`, `timeout` or `no_socket`; what the signal is aborted with. Nothing is left open
 */
export async function connectTo(
  target: WebhookTarget,
  address: string,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const late = new AbortController()
  const cancelTimer = options.clock.after(options.connectTimeoutMs, () =>
    late.abort(new ConnectFault('timeout', `not connected after ${options.connectTimeoutMs} ms`)),
  )
  const either = AbortSignal.any([signal, late.signal])
  try {
    const socket = await openSocket(target, address, options, either)
    return target.scheme === 'https' ? await secured(socket, target.host, options.ca, either) : socket
  } finally {
    cancelTimer()
  }
}

async function openSocket(
  target: WebhookTarget,
  address: string,
  { rules, proxy, dial }: ConnectOptions,
  signal: AbortSignal,
): Promise<Socket> {
  // Checked again here, so that no caller can open a connection to an unchecked address.
  const refusal = addressRefusal(address, target, rules)
  if (refusal !== null) throw new ConnectFault('blocked', `${address}: ${refusal}`)
  if (proxy !== null) return await proxy.open(address, target.port, signal)
  const socket = await connected(dial(address, target.port), signal)
  const misplaced = misplacement(socket, address, target, rules)
  if (misplaced === null) return socket
  socket.destroy()
  throw new ConnectFault('blocked', misplaced)
}

/** The reason why the socket is connected to a wrong address; null if it is not. */
function misplacement(
  socket: Socket,
  address: string,
  target: WebhookTarget,
  rules: AddressRules,
): string | null {
  const { remoteAddress = '', localAddress } = socket
  const refusal = addressRefusal(remoteAddress, target, rules)
  if (refusal !== null) return `connected to ${remoteAddress}: ${refusal}`
  if (!isSameAddress(remoteAddress, address)) return `connected to ${remoteAddress} for ${address}`
  const own = remoteAddress === localAddress && judgeAddress(remoteAddress, rules).kind === 'public'
  return own ? `${remoteAddress} is this machine itself` : null
}
