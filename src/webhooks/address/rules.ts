/** Holds the operator's address rules for webhooks: `BRIDGE_WEBHOOK_ALLOW_NETS`, `_ALLOW_HTTP` and `_PORTS`. */
import { type Ip, type Net, netHolds, parseNet } from '../../core/ip.ts'

/** `public`: anybody may go there. `allowed`: the operator lets it through. Else why not, for the operator's eyes only. */
export type AddressVerdict = { kind: 'public' | 'allowed' } | { kind: 'refused'; why: string }

/** The operator's rules. */
export interface AddressRules {
  /** Nets whose hosts are let through although special, and on any port. */
  allowNets: readonly Net[]
  /** Whether plain http is taken, and with it its own port 80. */
  allowHttp: boolean
  ports: ReadonlySet<number>
  /** Verdicts by these rules, by the text of the address: the memory of `judge-address.ts`, which bounds it. */
  judged: Map<string, AddressVerdict>
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
    judged: new Map(),
  }
}

/** True if the operator allows the address, in whatever net it is. */
export function isAllowed(rules: AddressRules, ip: Ip): boolean {
  return rules.allowNets.some((net) => netHolds(net, ip))
}
