/**
 * Checks whether the upstream can be reached, and how far its clock differs from this machine's. The one request for
 * this needs no key and costs no quota.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/durations.ts'
import { isLoopback } from '../../core/ip.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { type Failure, failureWords, type Timing } from '../../upstream/outcome.ts'
import { createTransport } from '../../upstream/transport.ts'
import { networkWords } from '../client/network-words.ts'
import { type Finding, fail, fine, warn } from './finding.ts'

/** A path that needs no key. */
const OPEN_PATH = '/references/exchanges?pageSize=1'
/** From the first byte sent to the last byte read. */
export const REQUEST_TIMEOUT_MS = 10_000
const SKEW_WARN_MS = 2000
const SKEW_FAIL_MS = 30_000
/** `Date` is truncated to whole seconds, so the real time is half a second later on average. */
const HALF_SECOND_MS = 500

/** The findings, and whether the upstream answers at all. */
export interface Reached {
  findings: Finding[]
  reached: boolean
}

/** Checks the upstream at `url`, a base address that ends in `/v2`. */
export async function checkUpstream(url: string, clock: Clock, signal: AbortSignal): Promise<Reached> {
  const transport = createTransport({ url, key: '', timeoutMs: REQUEST_TIMEOUT_MS, clock })
  try {
    const outcome = await transport.get(OPEN_PATH, signal, { keyless: true })
    const reach = judge(outcome, url)
    const reached = reach.level !== 'fail'
    return { reached, findings: reached ? [reach, judgeClock(outcome, url)] : [reach] }
  } finally {
    await transport.close()
  }
}

function judge(outcome: { kind: 'ok' } | Failure, url: string): Finding {
  switch (outcome.kind) {
    case 'timeout':
    case 'network': {
      const { what, todo } = awayWords(outcome)
      return fail('upstream', `${url} cannot be reached: ${what}`, todo, 'upstream')
    }
    case 'server_error':
      return warn(
        'upstream',
        `${url} answers with ${failureWords(outcome)}`,
        'the upstream has an error; a bridge keeps retrying, check again later',
      )
    case 'invalid':
      return warn(
        'upstream',
        `${url} answers, but not as expected: ${outcome.reason}`,
        'check BRIDGE_UPSTREAM_URL; redirects are not followed',
      )
    default:
      return fine('upstream', `${url} answers`)
  }
}

/** Why the upstream did not answer, and what to do. */
export function awayWords(failure: Extract<Failure, { kind: 'timeout' | 'network' }>) {
  const code = failure.kind === 'timeout' ? 'ETIMEDOUT' : failure.message
  const { what, todo } = networkWords(code)
  return { what, todo: `${todo} (BRIDGE_UPSTREAM_URL)` }
}

/** Difference between this clock, at the middle of the request, and the upstream's. */
export function judgeClock({ startedMs, endedMs, serverMs }: Timing, url: string): Finding {
  if (serverMs === null) {
    const todo = 'make sure that a time service (NTP) runs'
    return warn('clock', 'the upstream sends no Date header to compare with', todo)
  }
  const aheadMs = (startedMs + endedMs) / 2 - serverMs - HALF_SECOND_MS
  const amount = `${duration(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} upstream`
  if (Math.abs(aheadMs) <= SKEW_WARN_MS) return fine('clock', amount)
  if (isLoopback(new URL(url).hostname)) {
    const why = 'ignored, because it runs on this machine and a sandbox keeps its own time'
    return fine('clock', `${amount}; ${why}`)
  }
  return (Math.abs(aheadMs) > SKEW_FAIL_MS ? fail : warn)(
    'clock',
    `this machine is ${amount}`,
    'run a time service (chrony, systemd-timesyncd): recordedtime and latencies use this clock',
  )
}

function duration(ms: number): string {
  const units = [
    [DAY_MS, 'days'],
    [HOUR_MS, 'hours'],
    [MINUTE_MS, 'minutes'],
  ] as const
  const [size, name] = units.find(([unitMs]) => ms >= 2 * unitMs) ?? [SECOND_MS, 's']
  return `${(ms / size).toFixed(1)} ${name}`
}
