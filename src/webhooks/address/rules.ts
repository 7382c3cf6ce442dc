/**
 * Decides whether webhooks may connect to an address, by the operator's rules `BRIDGE_WEBHOOK_ALLOW_NETS`, `_ALLOW_HTTP` and
 * `_PORTS`.
 */
import { type Net, netHolds, parseIp, parseNet } from '../../core/ip.ts'
import { specialNetOf, unfold } from './special-nets.ts'

/** `public`: anybody may go there. `allowed`: the operator lets it through. Else why not, for the operator's eyes only. */
export type AddressVerdict = { kind: 'public' | 'allowed' } | { kind: 'refused'; why: string }

/** The operator's rules. */
export interface AddressRules {
  /** Nets whose hosts are let through although special, and on any port. */
  allowNets: readonly Net[]
  /** Whether plain http is taken, and with it its own port 80. */
  allowHttp: boolean
  ports: ReadonlySet<number>
}

/** The rules as the settings have them. */
export interface AddressSettings {
  allowNets: readonly string[]
  allowHttp: boolean
  ports: readonly number[]
}

/**
 * The rules from the settings' values.
 * @throws TypeError where a net is none: the settings have been checked before
 */
export function addressRules(settings: AddressSettings): AddressRules {
  return {
    allowNets: settings.allowNets.map(parseNet),
    allowHttp: settings.allowHttp,
    ports: new Set(settings.ports),
  }
}

/**
 * Judges an address as text, in any form of either family. What cannot be read is refused. An IPv6 address that embeds
 * an IPv4 one is judged as that one.
 */
export function judgeAddress(text: string, rules: AddressRules): AddressVerdict {
  const ip = parseIp(text)
  if (ip === null) return { kind: 'refused', why: 'unreadable' }
  const inner = unfold(ip)
  if (rules.allowNets.some((net) => netHolds(net, inner) || netHolds(net, ip))) return { kind: 'allowed' }
  const net = specialNetOf(inner)
  return net === null ? { kind: 'public' } : { kind: 'refused', why: net }
}
