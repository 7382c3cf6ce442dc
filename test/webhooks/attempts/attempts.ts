/**
 * Attempts of a test: the product's own parts with a resolver that a test writes. Owns putting them together, and their end.
 */
import type { Clock } from '../../../src/lifecycle/clock.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Dial, systemDial } from '../../../src/webhooks/address/connector.ts'
import { judgeUrl, type WebhookTarget } from '../../../src/webhooks/address/judge-url.ts'
import { createPools, type Pools } from '../../../src/webhooks/address/pools.ts'
import { createProxy } from '../../../src/webhooks/address/proxy.ts'
import type { Resolve } from '../../../src/webhooks/address/resolver.ts'
import { type AddressRules, addressRules } from '../../../src/webhooks/address/rules.ts'
import { type AttemptReport, attemptDelivery } from '../../../src/webhooks/send/attempt.ts'

/** 127.0.0.2 plays the public host; all else of this machine stays refused. */
export const trialRules: AddressRules = addressRules({
  allowNets: ['127.0.0.2/32'],
  allowHttp: true,
  ports: [443, 8443],
})

export interface Trial {
  pools: Pools
  /** Names the resolver was asked for. */
  asked: string[]
  /** One attempt to `url`. */
  send(
    url: string,
    options?: { body?: string; headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<AttemptReport>
  [Symbol.asyncDispose](): Promise<void>
}

/** The parts of one process. `answers`: what each question for a name is answered, the last one for ever. */
export function createTrial({
  answers = [['127.0.0.2']],
  rules = trialRules,
  clock = systemClock,
  ca = null,
  proxyUrl,
  dial = systemDial,
  resolve,
}: {
  answers?: readonly (readonly string[])[]
  rules?: AddressRules
  clock?: Clock
  ca?: string | null
  proxyUrl?: string
  dial?: Dial
  resolve?: Resolve
} = {}): Trial {
  const asked: string[] = []
  const scripted: Resolve = async (name) => {
    asked.push(name)
    return answers[Math.min(asked.length, answers.length) - 1] ?? []
  }
  const proxy = proxyUrl === undefined ? null : createProxy(proxyUrl, ca)
  const pools = createPools({ rules, clock, connectTimeoutMs: 5_000, ca, proxy, dial })
  const means = { rules, resolve: resolve ?? scripted, pools, clock }
  return {
    pools,
    asked,
    send: (url, { body = '{}', headers = {}, signal = new AbortController().signal } = {}) =>
      attemptDelivery(targetOf(url, rules), { headers, body: Buffer.from(body) }, means, signal),
    [Symbol.asyncDispose]: () => pools.close(),
  }
}

/** The target of a URL that the rules take. */
export function targetOf(url: string, rules: AddressRules): WebhookTarget {
  const verdict = judgeUrl(url, rules)
  if (verdict.kind === 'refused') throw new Error(`${url} is refused: ${verdict.refusal}`)
  return verdict.target
}
