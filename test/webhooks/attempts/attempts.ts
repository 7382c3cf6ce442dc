/** Builds webhook attempts for tests: the product's own parts with a resolver that a test scripts. */
import type { Clock } from '../../../src/lifecycle/clock.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Dial, systemDial } from '../../../src/webhooks/address/connector.ts'
import { judgeUrl, type WebhookTarget } from '../../../src/webhooks/address/judge-url.ts'
import { createPools, type Pools } from '../../../src/webhooks/address/pools.ts'
import { createProxy } from '../../../src/webhooks/address/proxy.ts'
import type { Resolve } from '../../../src/webhooks/address/resolver.ts'
import { type AddressRules, addressRules } from '../../../src/webhooks/address/rules.ts'
import { type AttemptReport, attemptDelivery } from '../../../src/webhooks/send/attempt.ts'

/** 127.0.0.2 plays the public host; every other address of this machine stays refused. */
export const trialRules: AddressRules = addressRules({
  allowNets: ['127.0.0.2/32'],
  allowHttp: true,
  ports: [443, 8443],
})

export interface Trial {
  pools: Pools
  /** The names that the resolver looked up. */
  asked: string[]
  /** Makes one attempt to `url`. */
  send(
    url: string,
    options?: {
      body?: string
      headers?: Record<string, string>
      signal?: AbortSignal
      mayLeave?: () => boolean
    },
  ): Promise<AttemptReport>
  [Symbol.asyncDispose](): Promise<void>
}

/** The parts of one process. `answers`: the result of each lookup of a name in turn, the last one repeatedly. */
export function createTrial({
  answers = [['127.0.0.2']],
  rules = trialRules,
  clock = systemClock,
  ca = null,
  proxyUrl,
  dial = systemDial,
  resolve,
  mostConnections = 100,
}: {
  answers?: readonly (readonly string[])[]
  rules?: AddressRules
  clock?: Clock
  ca?: string | null
  proxyUrl?: string
  dial?: Dial
  resolve?: Resolve
  mostConnections?: number
} = {}): Trial {
  const asked: string[] = []
  const scripted: Resolve = async (name) => {
    asked.push(name)
    return answers[Math.min(asked.length, answers.length) - 1] ?? []
  }
  const proxy = proxyUrl === undefined ? null : createProxy(proxyUrl, ca)
  const pools = createPools({ rules, clock, mostConnections, connectTimeoutMs: 5_000, ca, proxy, dial })
  const means = { rules, resolve: resolve ?? scripted, pools, clock }
  return {
    pools,
    asked,
    send: (
      url,
      { body = '{}', headers = {}, signal = new AbortController().signal, mayLeave = () => true } = {},
    ) => attemptDelivery(targetOf(url, rules), { headers, body: Buffer.from(body), mayLeave }, means, signal),
    [Symbol.asyncDispose]: () => pools.close(),
  }
}

/** The target of an accepted URL. */
export function targetOf(url: string, rules: AddressRules): WebhookTarget {
  const verdict = judgeUrl(url, rules)
  if (verdict.kind === 'refused') throw new Error(`${url} is refused: ${verdict.refusal}`)
  return verdict.target
}
