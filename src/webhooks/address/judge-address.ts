/**
 * Whether a webhook may go to an address. Owns the verdict on one address: pure, and the same before the connection and on
 * its socket. Refuses to look at names, ports or URLs: `judge-url.ts` does.
 */
import { type Ip, parseIp } from './ip.ts'
import { type AddressRules, isAllowed } from './rules.ts'
import { specialNetOf, unfold } from './special-nets.ts'

/** `public`: anybody may go there. `allowed`: the operator lets it through. Else why not, for the operator's eyes only. */
export type AddressVerdict = { kind: 'public' | 'allowed' } | { kind: 'refused'; why: string }

/**
 * Judges an address as text, in any form of either family. What cannot be read is refused. An IPv6 address that stands for
 * an IPv4 one is judged as that one.
 */
export function judgeAddress(text: string, rules: AddressRules): AddressVerdict {
  const ip = parseIp(text)
  return ip === null ? { kind: 'refused', why: 'unreadable' } : judgeIp(ip, rules)
}

function judgeIp(ip: Ip, rules: AddressRules): AddressVerdict {
  const inner = unfold(ip)
  if (rules.allowNets.length > 0 && (isAllowed(rules, inner) || isAllowed(rules, ip)))
    return { kind: 'allowed' }
  const net = specialNetOf(inner)
  return net === null ? { kind: 'public' } : { kind: 'refused', why: net }
}
