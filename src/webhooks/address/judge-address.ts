/** Decides whether webhooks may connect to an address, and caches the verdict. */
import { type Ip, parseIp } from '../../core/ip.ts'
import { type AddressRules, type AddressVerdict, isAllowed } from './rules.ts'
import { specialNetOf, unfold } from './special-nets.ts'

/** Maximum of cached verdicts, two megabytes; above it the cache is cleared. */
export const MOST_JUDGED = 10_000

/**
 * Judges an address as text, in any form of either family. What cannot be read is refused. An IPv6 address that stands for
 * an IPv4 one is judged as that one.
 */
export function judgeAddress(text: string, rules: AddressRules): AddressVerdict {
  const { judged } = rules
  const known = judged.get(text)
  if (known !== undefined) return known
  const ip = parseIp(text)
  if (ip === null) return { kind: 'refused', why: 'unreadable' }
  const verdict = judgeIp(ip, rules)
  if (judged.size >= MOST_JUDGED) judged.clear()
  judged.set(text, verdict)
  return verdict
}

function judgeIp(ip: Ip, rules: AddressRules): AddressVerdict {
  const inner = unfold(ip)
  if (rules.allowNets.length > 0 && (isAllowed(rules, inner) || isAllowed(rules, ip)))
    return { kind: 'allowed' }
  const net = specialNetOf(inner)
  return net === null ? { kind: 'public' } : { kind: 'refused', why: net }
}
