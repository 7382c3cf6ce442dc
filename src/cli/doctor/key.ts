/**
 * Checks the upstream key and the plan's page size with one upstream request. The request uses up weekly quota, so it
 * is recorded in the log before it is sent.
 */
import { isoMillis } from '../../core/dates.ts'
import { BridgeError } from '../../errors.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import { createTokenBucket } from '../../governor/quota/token-bucket.ts'
import { PollerWriter } from '../../ingest/writer-state/poller-writer.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import { openSqliteLog } from '../../log-embedded/log.ts'
import type { UpstreamSettings } from '../../settings/settings.ts'
import { createUpstreamClient, type SendPermit } from '../../upstream/client.ts'
import { failureWords, type Outcome, oneLine, type UpstreamWords } from '../../upstream/outcome.ts'
import type { Page } from '../../upstream/page.ts'
import { createTransport } from '../../upstream/transport.ts'
import { quotaFinding } from './bridge.ts'
import { type Finding, fail, fine, warn } from './finding.ts'
import { judgeItems } from './items.ts'
import { awayWords, REQUEST_TIMEOUT_MS } from './upstream.ts'

/** What is asked, and where its unit is counted. */
export interface KeyCheck {
  upstream: UpstreamSettings
  /** Upstream's own word in names of parameters, and the kind that it gives its own categories, e.g. `Native`. */
  native: { word: string; kind: string }
  /** Must be free: nobody else may hold it. It is made where it is missing. */
  dataDir: string
  clock: Clock
  signal: AbortSignal
}

const WRONG_ADDRESS = 'check BRIDGE_UPSTREAM_URL: is it the base address that ends in /v2?'

/** Sends one request with the key. Failures of upstream and log are findings; only an abort is thrown. */
export async function checkKey({ upstream, native, dataDir, clock, signal }: KeyCheck): Promise<Finding[]> {
  try {
    const { log } = openSqliteLog({ dataDir, nativeKind: native.kind, clock })
    try {
      const writer = new PollerWriter(await log.claim(await log.campaign(signal), signal))
      const findings = await askOnce(writer, { upstream, native }, clock, signal)
      await writer.release()
      return findings
    } finally {
      await log.close()
    }
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    const { message, hint = null } = error
    const why = `not tested, because the unit that it costs cannot be recorded: ${message}`
    return [fail('key', why, hint)]
  }
}

async function askOnce(
  writer: PollerWriter,
  { upstream, native }: Pick<KeyCheck, 'upstream' | 'native'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { plan, url, key } = upstream
  const before = quotaAt(writer.state.ledger, plan.weeklyQuota, plan.quotaReset, clock.now())
  if (before.remaining === 0) return [quotaNow(writer, upstream, clock.now())]
  const bucket = createTokenBucket(plan)
  // Requests sent before this process started are unknown: begin with an empty bucket.
  bucket.drain(clock.now())
  let spentMs = 0
  const permit: SendPermit = {
    spend(purpose, atMs) {
      spentMs = atMs
      return writer.spend(1, purpose, atMs)
    },
    throttle: (until) => sleep(clock, bucket.take(clock.now()) - clock.now(), until),
  }
  const client = createUpstreamClient({
    transport: createTransport({ url, key, timeoutMs: REQUEST_TIMEOUT_MS, clock }),
    now: () => clock.now(),
    nativeWord: native.word,
  })
  try {
    const outcome = await client.list({ pageSize: plan.pageSize }, 'probe', permit, signal)
    if (!outcome.sent) {
      await writer.commit({ events: [], refunds: [{ atMs: spentMs, units: 1, purpose: 'probe' }] })
    }
    const items = outcome.kind === 'ok' ? judgeItems(outcome.value, native.kind) : []
    return [judge(outcome, upstream), ...items, quotaNow(writer, upstream, clock.now())]
  } finally {
    await client.close()
  }
}

/** What upstream said besides its status, after a colon. */
function saying(words: Partial<UpstreamWords>): string {
  const said = oneLine(words)
  return said === '' ? '' : `: ${said}`
}

function quotaNow(writer: PollerWriter, { plan }: UpstreamSettings, nowMs: number): Finding {
  const { ledger } = writer.state
  const { resetMs, ...quota } = quotaAt(ledger, plan.weeklyQuota, plan.quotaReset, nowMs)
  return quotaFinding({ ...quota, reset: isoMillis(resetMs), forecast: null })
}

function judge(outcome: Outcome<Page>, { plan }: UpstreamSettings): Finding {
  const failed = (finding: string, todo: string): Finding => fail('key', finding, todo, 'upstream')
  switch (outcome.kind) {
    case 'ok':
      return fine('key', `accepted, with pages of ${plan.pageSize} (one request was spent)`)
    case 'unauthorised':
      return failed(
        `refused with ${failureWords(outcome)}`,
        'correct BRIDGE_UPSTREAM_KEY, or the file that holds it',
      )
    case 'refused':
      if (outcome.status === 404) {
        return failed(
          `the upstream has no announcements at this address: ${failureWords(outcome)}`,
          WRONG_ADDRESS,
        )
      }
      return failed(
        `the first page of ${plan.pageSize} is refused with ${failureWords(outcome)}`,
        `correct BRIDGE_UPSTREAM_PLAN (now ${plan.name}), or set BRIDGE_UPSTREAM_PAGE_SIZE lower`,
      )
    case 'too_many':
      return warn(
        'key',
        `not tested: the upstream answers 429 (throttled, or quota used up)${saying(outcome)}`,
        'check whether another program uses the key, or wait; then run bridge doctor again',
      )
    case 'server_error':
      return warn('key', `not tested: ${failureWords(outcome)}`, 'run bridge doctor again later')
    case 'invalid':
      return failed(`the response is not a page of announcements: ${outcome.reason}`, WRONG_ADDRESS)
    default: {
      const { what, todo } = awayWords(outcome)
      return failed(`the upstream cannot be reached: ${what}`, todo)
    }
  }
}
