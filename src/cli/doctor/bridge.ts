/**
 * Checks whether a bridge with these settings is running, and judges its readiness, replication lag, gaps, and what its
 * leader reports of upstream key and quota. A gap is a span of time in which announcements may be missing.
 */
import type { Status, UpstreamState } from '../../api/routes/status.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Settings } from '../../settings/settings.ts'
import { networkWordsOf } from '../client/network-words.ts'
import { addressOf } from '../client/target.ts'
import { counted } from '../terminal/text.ts'
import { type Finding, fail, fine, warn } from './finding.ts'

const ANSWER_TIMEOUT_MS = 3000
/** A replica with more lag than this is behind by more than the commit in flight. */
const LAG_WARN_SECONDS = 5
/** A leader reports every 5 s, and another takes over within seconds. */
const REPORT_WARN_SECONDS = 60

/** What answers at the address of these settings. */
export interface FoundBridge {
  findings: Finding[]
  /** Whether anything answers there. */
  answers: boolean
  /** null where no bridge runs, or its status cannot be read. */
  status: Status | null
}

type Place = Pick<Settings, 'http' | 'httpTls' | 'ops' | 'adminToken'>

/** Sends a request to both listeners. `holder`: the process that holds the data directory, null: none. */
export async function checkBridge(
  settings: Place,
  holder: string | null,
  clock: Pick<Clock, 'now'>,
  signal: AbortSignal,
): Promise<FoundBridge> {
  if (settings.http.port === 0) {
    return {
      status: null,
      answers: false,
      findings: [unseen('its port is chosen at the start (BRIDGE_HTTP_PORT is 0)', holder)],
    }
  }
  const url = addressOf(settings.http, settings.httpTls !== null)
  const answer = await ask(`${url}/v1/status`, settings.adminToken, signal)
  if (answer.kind === 'none') {
    const finding = unseen(`${url} does not answer (${answer.what})`, holder)
    return { status: null, answers: false, findings: [finding] }
  }
  const status = answer.status === 200 ? readStatus(answer.body) : null
  if (status === null) return { status: null, answers: true, findings: [stranger(url, answer.status)] }
  const readiness = settings.ops.port === 0 ? [] : await checkReady(addressOf(settings.ops), signal)
  return {
    status,
    answers: true,
    findings: [judge(url, status), ...readiness, ...judgeLeader(status, clock.now())],
  }
}

function unseen(finding: string, holder: string | null): Finding {
  if (holder === null) return fine('bridge', `not running: ${finding}`)
  return warn(
    'bridge',
    `${holder} holds the data directory, but ${finding}`,
    'if that is the bridge, compare its BRIDGE_HTTP_* settings and roles with these; otherwise stop it',
  )
}

function stranger(url: string, status: number): Finding {
  if (status === 401 || status === 403) {
    return warn(
      'bridge',
      `${url} refuses BRIDGE_ADMIN_TOKEN`,
      'that bridge was started with another token: correct the setting, or restart it',
    )
  }
  return warn(
    'bridge',
    `${url} answers with status ${status}, unlike a bridge with the role api`,
    'another program may use the port: stop it, or set BRIDGE_HTTP_PORT to another port',
  )
}

function judge(url: string, { gaps, copy, log }: Status): Finding {
  const [oldest] = gaps ?? []
  if (gaps !== null && oldest !== undefined) {
    return warn(
      'bridge',
      `${url} runs; open gaps: ${gaps.length}, the first from ${oldest.from} to ${oldest.to}`,
      'it fills them as the quota allows; docs/run/troubleshooting.md explains when it cannot',
    )
  }
  if (copy.lagEvents === null || copy.lagSeconds === null) {
    const silence =
      copy.lagSeconds === null
        ? 'has not answered yet'
        : `has not answered for ${copy.lagSeconds.toFixed(0)} s`
    return warn('bridge', `${url} runs; its log ${silence}`, 'look at Kafka and the network to it')
  }
  if (copy.lagSeconds > LAG_WARN_SECONDS) {
    return warn(
      'bridge',
      `${url} runs, its replica is ${counted(copy.lagEvents, 'event')} and ${copy.lagSeconds.toFixed(0)} s behind the log`,
      'check the load of the machine and of its disk',
    )
  }
  const known = gaps === null ? 'open gaps not known' : 'no open gap'
  return fine('bridge', `${url} runs: ${counted(log.latest ?? 0, 'event')}, ${known}, no lag`)
}

/** What the status of a bridge says of its gaps, its replica, its leader, key and quota. `place`: how the bridge is called. */
export function judgeStatus(place: string, status: Status, nowMs: number): Finding[] {
  return [judge(place, status), ...judgeLeader(status, nowMs)]
}

function judgeLeader(status: Status, nowMs: number): Finding[] {
  return [...pauseOf(status), ...leaderOf(status, nowMs), ...keyOf(status)]
}

/** Whether an operator has paused polling; empty where not. */
function pauseOf({ polling }: Status): Finding[] {
  if (polling?.paused !== true) return []
  const why = polling.reason === null ? '' : `: ${polling.reason}`
  return [
    warn(
      'polling',
      `paused by an operator since ${polling.since}${why}`,
      'nothing new arrives until bridge admin resume',
    ),
  ]
}

/** Whether a leader reports; empty where it does. */
function leaderOf({ asOf }: Status, nowMs: number): Finding[] {
  if (asOf === null) {
    return [
      warn(
        'leader',
        'the running bridge has heard from no leader: perhaps nobody polls',
        'start a process with the role poller on the same log; if one runs, its log says what it waits for',
      ),
    ]
  }
  const ageSeconds = (nowMs - Date.parse(asOf)) / 1000
  if (!(ageSeconds > REPORT_WARN_SECONDS)) return []
  return [
    warn(
      'leader',
      `the leader last reported ${ageSeconds.toFixed(0)} s ago, at ${asOf}: perhaps nobody polls`,
      'check that a process with the role poller runs and reaches Kafka, and that the clocks of both machines agree',
    ),
  ]
}

async function checkReady(url: string, signal: AbortSignal): Promise<Finding[]> {
  const answer = await ask(`${url}/readyz`, null, signal)
  if (answer.kind === 'none') {
    return [
      warn('ready', `${url} does not answer: ${answer.what}`, 'compare BRIDGE_OPS_HOST and BRIDGE_OPS_PORT'),
    ]
  }
  if (answer.status === 200) return [fine('ready', `${url}/readyz is 200`)]
  return [
    warn(
      'ready',
      `${url}/readyz is ${answer.status}: ${answer.body.slice(0, 200)}`,
      'wait, or check its log',
    ),
  ]
}

/** Each state of the upstream as a finding about the key. */
const KEY: Record<UpstreamState, Finding> = {
  ok: fine('key', 'not tested: the running bridge polls with its key'),
  waiting: fine('key', 'the running bridge has not polled yet'),
  throttled: warn(
    'key',
    'the running bridge is throttled',
    'check whether another program uses the key, or BRIDGE_UPSTREAM_PLAN is too large',
  ),
  quota: warn(
    'key',
    'the weekly quota is used up',
    'wait for the reset, get a larger plan, or find who else uses the key',
  ),
  unauthorised: fail(
    'key',
    'the upstream refuses the key of the running bridge',
    'put the right key into the file of BRIDGE_UPSTREAM_KEY_FILE, which is read again at once, or into BRIDGE_UPSTREAM_KEY and restart it',
    'upstream',
  ),
  failing: warn(
    'key',
    'the polls of the running bridge fail',
    'its log says why, in upstream.request_failed',
  ),
}

/** Key and quota as the leader reports them; empty where they are not known. */
function keyOf({ upstream, quota }: Status): Finding[] {
  if (upstream.state === null) return []
  const since = upstream.lastGoodPoll === null ? '' : `, last good poll ${upstream.lastGoodPoll}`
  const known = KEY[upstream.state]
  const key = { ...known, finding: `${known.finding}${since}` }
  return quota.remaining === null ? [key] : [key, quotaFinding({ ...quota, remaining: quota.remaining })]
}

/** How much of the weekly quota is left. `forecast`: planned use divided by what is left; null: unknown. */
export function quotaFinding({
  limit,
  used,
  remaining,
  reset: resetAt,
  forecast,
}: Omit<Status['quota'], 'drift' | 'remaining'> & { remaining: number }): Finding {
  const left = `${remaining} of ${limit} requests left, ${used} used`
  const reset = resetAt === null ? '' : `; the next units return at ${resetAt}`
  if (remaining === 0) return warn('quota', `${left}${reset}`, 'wait, or get a larger plan')
  if ((forecast ?? 0) <= 1) return fine('quota', `${left}${reset}`)
  const todo = 'find who else uses the key, or get a larger plan'
  return warn('quota', `${left}, fewer than planned${reset}`, todo)
}

type Answer = { kind: 'none'; what: string } | { kind: 'answer'; status: number; body: string }

async function ask(url: string, token: string | null, signal: AbortSignal): Promise<Answer> {
  try {
    const response = await fetch(url, {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
    })
    return { kind: 'answer', status: response.status, body: await response.text() }
  } catch (error) {
    signal.throwIfAborted()
    return { kind: 'none', what: networkWordsOf(error).what }
  }
}

/** The status in that body; null where it is none: another program may use the port. */
function readStatus(body: string): Status | null {
  try {
    const status = JSON.parse(body) as Partial<Status> | null
    const whole =
      (Array.isArray(status?.gaps) || status?.gaps === null) &&
      Array.isArray(status.roles) &&
      isNumberOrNull(status.copy?.lagSeconds) &&
      isNumberOrNull(status.log?.latest) &&
      typeof status.quota === 'object' &&
      (status.upstream?.state === null || Object.hasOwn(KEY, status.upstream?.state ?? ''))
    return whole ? (status as Status) : null
  } catch {
    return null
  }
}

function isNumberOrNull(value: unknown): boolean {
  return typeof value === 'number' || value === null
}
