/**
 * Resolves the host name for a webhook delivery attempt once and checks every address by the operator's rules. One
 * refused address blocks the attempt.
 */
import { isIP } from 'node:net'
import { textOf } from '../../errors.ts'
import type { WebhookTarget } from './judge-url.ts'
import type { Resolve } from './resolver.ts'
import { type AddressRules, judgeAddress } from './rules.ts'

/**
 * `reason` and `why` are for the operator: a tenant gets to know neither, nor for a name from the name servers whether it was
 * `unresolved` or `blocked`.
 */
export type Checked =
  | { kind: 'addresses'; addresses: readonly string[] }
  | { kind: 'unresolved'; reason: string }
  | { kind: 'blocked'; isByName: boolean; why: string }

/** Addresses of `localhost` and its subdomains, without DNS (RFC 6761); if only one is in the allowed nets, that one. */
const THIS_MACHINE = ['127.0.0.1', '::1']

/**
 * Resolves the target's name once and checks every address; one refused address blocks the attempt. Never rejects.
 */
export async function checkAddresses(
  target: WebhookTarget,
  rules: AddressRules,
  resolve: Resolve,
): Promise<Checked> {
  let answers: readonly string[]
  try {
    answers = await answersFor(target.host, rules, resolve)
  } catch (error) {
    return { kind: 'unresolved', reason: codeOf(error) }
  }
  if (answers.length === 0) return { kind: 'unresolved', reason: 'no address' }
  for (const address of answers) {
    const why = addressRefusal(address, target, rules)
    if (why !== null) return { kind: 'blocked', isByName: isAsked(target.host), why: `${address}: ${why}` }
  }
  return { kind: 'addresses', addresses: [...new Set(answers)] }
}

/** The reason why the target may not use this address; null if it may. */
export function addressRefusal(address: string, target: WebhookTarget, rules: AddressRules): string | null {
  const verdict = judgeAddress(address, rules)
  if (verdict.kind === 'refused') return verdict.why
  return target.allowedNetsOnly && verdict.kind !== 'allowed' ? 'not in the allowed nets' : null
}

async function answersFor(host: string, rules: AddressRules, resolve: Resolve): ReturnType<Resolve> {
  if (isIP(host) !== 0) return [host]
  if (isAsked(host)) return resolve(host)
  const allowed = THIS_MACHINE.filter((address) => judgeAddress(address, rules).kind === 'allowed')
  return allowed.length > 0 ? allowed : THIS_MACHINE
}

/** Whether name servers are asked for the host. */
function isAsked(host: string): boolean {
  return isIP(host) === 0 && host !== 'localhost' && !host.endsWith('.localhost')
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? textOf(error.code) : 'unknown'
}
