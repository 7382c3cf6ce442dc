/**
 * Sends the webhook delivery attempts of a process, with its address rules, resolver, connection pools and proxy. An
 * endpoint's URL is checked by the present rules, even if it was accepted under others.
 */
import type { Clock } from '../../lifecycle/clock.ts'
import { systemDial } from '../address/connector.ts'
import { judgeUrl, type UrlVerdict } from '../address/judge-url.ts'
import { createPools } from '../address/pools.ts'
import { createProxy } from '../address/proxy.ts'
import { createResolver, holdAnswers } from '../address/resolver.ts'
import type { AddressRules } from '../address/rules.ts'
import type { DeliveryEndpoint } from '../delivery-state/endpoint-state.ts'
import { type AttemptReport, attemptDelivery, attemptLimits } from './attempt.ts'
import type { Attempt } from './delivery.ts'

/** The means of this process. `proxyUrl` null: straight to the receivers. */
export function createSender({
  rules,
  proxyUrl,
  clock,
  mostConnections,
  onNoSocket = () => undefined,
}: {
  rules: AddressRules
  proxyUrl: string | null
  clock: Clock
  /** Most connections to receivers, with those that idle. */
  mostConnections: number
  /** Called for every attempt that found no open file or port for its connection. */
  onNoSocket?: (reason: string) => void
}) {
  const proxy = proxyUrl === null ? null : createProxy(proxyUrl, null)
  const pools = createPools({
    rules,
    clock,
    mostConnections,
    connectTimeoutMs: attemptLimits.connectMs,
    ca: null,
    proxy,
    dial: systemDial,
  })
  const means = { rules, resolve: holdAnswers(createResolver(clock), clock), pools, clock }
  /** One verdict for each state of an endpoint. */
  const verdicts = new WeakMap<DeliveryEndpoint, UrlVerdict>()
  const attempt: Attempt = async (endpoint, post, signal) => {
    const verdict = verdicts.get(endpoint) ?? judgeUrl(endpoint.url, rules)
    verdicts.set(endpoint, verdict)
    if (verdict.kind === 'refused') return refused(verdict.message, clock.now())
    const report = await attemptDelivery(verdict.target, post, means, signal)
    if (report.end.kind === 'no_socket') onNoSocket(report.detail ?? '')
    return report
  }
  /** `close` ends every connection, also of attempts under way. */
  return { attempt, close: () => pools.close() }
}

/** The rules have changed since the URL was taken. */
function refused(why: string, startedMs: number): AttemptReport {
  return {
    end: { kind: 'failed', fault: 'blocked' },
    phase: 'dns',
    startedMs,
    durationMs: 0,
    response: null,
    detail: `the URL ${why}`,
  }
}
