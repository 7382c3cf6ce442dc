/**
 * Judges the conditions of alerts that the bridge's own answers decide: names and runbooks are those of `deploy/monitoring`, limits
 * nearly so. Prometheus waits for a while before it sends an alert, and judges more of them. Pure.
 */

import { inWords, millisOf } from '../../parts/times.ts'
import type { NodesAnswer, OpenGapAnswer, StatusAnswer } from '../../shell/answers.ts'

/** An alert whose condition holds. */
export interface OpenAlert {
  name: JudgedAlert
  /** `page`: somebody should look now · `ticket`: soon. */
  severity: 'page' | 'ticket'
  /** What holds, with its figures. */
  summary: string
  /** What to do first; the runbook has the rest. */
  todo: string
}

/** What the alerts are judged by. */
export interface AlertFacts {
  status: StatusAnswer
  /** null: not known, or not to be seen. */
  nodes: NodesAnswer['data'] | null
  /** When gaps were given up, ms since 1970 by the bridge's clock; null: not known. */
  givenUpMs: readonly number[] | null
  /** The bridge's present. */
  nowMs: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A leader reports every 5 s, and another takes over within seconds. */
const SILENT_MS = MINUTE_MS
const NO_POLL_MS = MINUTE_MS
const GAP_OPEN_MS = 10 * MINUTE_MS
const QUOTA_LOW = 0.1
const BEHIND_SECONDS = 30

type Verdict = Pick<OpenAlert, 'summary' | 'todo'> | null

/** Each alert that the bridge's answers decide: its severity, and what to say of it while it holds. */
const rules = {
  BridgeDown: {
    severity: 'ticket',
    judge({ nodes }) {
      const gone = (nodes ?? []).filter(({ state }) => state === 'gone')
      if (gone.length === 0) return null
      const summary = `Nothing is heard from ${gone.length === 1 ? 'one node' : `${gone.length} nodes`}: ${gone.map(({ id }) => id).join(', ')}.`
      return { summary, todo: 'Look at its last log lines and its exit code.' }
    },
  },
  BridgeLeaderCount: {
    severity: 'page',
    judge({ status: { leader, asOf }, nowMs }) {
      const heardMs = millisOf(asOf)
      if (leader.id !== null && heardMs !== null && nowMs - heardMs <= SILENT_MS) return null
      return {
        summary: 'This node hears of no process that leads: nothing new is published.',
        todo: 'Check that a process with the role poller runs and reaches Kafka.',
      }
    },
  },
  BridgeNoGoodPoll: {
    severity: 'page',
    judge({ status: { upstream, polling }, nowMs }) {
      if (polling?.paused === true) return null
      const lastMs = millisOf(upstream.lastGoodPoll)
      const nextMs = millisOf(upstream.nextPoll)
      if (lastMs === null || nowMs - lastMs <= NO_POLL_MS) return null
      const isOverdue = nextMs !== null && nowMs - nextMs > NO_POLL_MS
      const isRefused = ['failing', 'throttled', 'unauthorised', 'quota'].includes(upstream.state ?? '')
      if (!isOverdue && !isRefused) return null
      return {
        summary: `No good poll for ${inWords(nowMs - lastMs)}.`,
        todo: 'The leader’s log event upstream.request_failed has the reason.',
      }
    },
  },
  BridgePollingPaused: {
    severity: 'page',
    judge({ status: { polling }, nowMs }) {
      const sinceMs = millisOf(polling?.since ?? null)
      if (polling?.paused !== true || sinceMs === null || nowMs - sinceMs < HOUR_MS) return null
      return {
        summary: `Polling has been paused for ${inWords(nowMs - sinceMs)}.`,
        todo: 'Resume it with bridge admin resume, or ask who paused it.',
      }
    },
  },
  BridgeGapOpen: {
    severity: 'page',
    judge({ status: { gaps, polling }, nowMs }) {
      if (polling?.paused === true) return null
      const old = (gaps ?? []).filter(({ openedAt }) => isOlder(openedAt, nowMs))
      if (old.length === 0) return null
      return {
        summary: `${old.length === 1 ? 'One gap is' : `${old.length} gaps are`} open for more than ten minutes.`,
        todo: 'Look at upstream and at what the quota is spent on; the bridge goes on trying.',
      }
    },
  },
  BridgeGapGivenUp: {
    severity: 'page',
    judge({ givenUpMs, nowMs }) {
      if (!(givenUpMs ?? []).some((ms) => nowMs - ms < HOUR_MS)) return null
      return {
        summary: 'A gap was given up within the last hour: announcements may be missing for good.',
        todo: 'Get the announcements of that time from another source.',
      }
    },
  },
  BridgeQuotaForecast: {
    severity: 'ticket',
    judge({ status: { quota } }) {
      if (quota.forecast === null || quota.forecast <= 1) return null
      return {
        summary: `What a usual week takes is ${Math.round(quota.forecast * 100)} % of the quota that is left.`,
        todo: 'Find out who else uses the key, or take a larger plan.',
      }
    },
  },
  BridgeQuotaLow: {
    severity: 'ticket',
    judge({ status: { quota } }) {
      const { remaining, limit } = quota
      if (remaining === null || limit === null || remaining >= limit * QUOTA_LOW) return null
      return {
        summary: `${remaining.toLocaleString('en-GB')} of ${limit.toLocaleString('en-GB')} units of the week are left.`,
        todo: 'Nothing is lost, but polls become rarer until units come back.',
      }
    },
  },
  BridgeCopyBehind: {
    severity: 'ticket',
    judge({ status: { copy }, nodes }) {
      const others = (nodes ?? []).filter(({ self, state }) => !self && state === 'up')
      const behind = [copy, ...others.map((node) => node.copy)]
        .map(({ lagSeconds }) => lagSeconds ?? 0)
        .filter((lagSeconds) => lagSeconds > BEHIND_SECONDS)
      if (behind.length === 0) return null
      const most = Math.max(...behind)
      return {
        summary: `${behind.length === 1 ? 'One node serves' : `${behind.length} nodes serve`} readers up to ${inWords(most * 1000)} late.`,
        todo: 'Check its disk, its processor and its connection to Kafka.',
      }
    },
  },
} as const satisfies Record<
  string,
  { severity: OpenAlert['severity']; judge: (facts: AlertFacts) => Verdict }
>

/** The name of an alert that the page judges. */
export type JudgedAlert = keyof typeof rules

/** The names of the alerts that the page judges, with their severities. */
export const judgedAlerts: readonly Pick<OpenAlert, 'name' | 'severity'>[] = (
  Object.keys(rules) as JudgedAlert[]
).map((name) => ({ name, severity: rules[name].severity }))

/** The alerts whose condition holds, those that page first. */
export function openAlerts(facts: AlertFacts): OpenAlert[] {
  return judgedAlerts
    .flatMap(({ name, severity }) => {
      const verdict: Verdict = rules[name].judge(facts)
      return verdict === null ? [] : [{ name, severity, ...verdict }]
    })
    .sort((one, other) => one.severity.localeCompare(other.severity))
}

/** The names of the alerts that can be judged by so much: what one needs may not be known. */
export function alertsJudgedBy({ status, nodes, givenUpMs }: AlertFacts): JudgedAlert[] {
  const { gaps, quota } = status
  const unknown: Partial<Record<JudgedAlert, boolean>> = {
    BridgeDown: nodes === null,
    BridgeGapOpen: gaps === null,
    BridgeGapGivenUp: givenUpMs === null,
    BridgeQuotaForecast: quota.forecast === null,
    BridgeQuotaLow: quota.remaining === null || quota.limit === null,
  }
  return judgedAlerts.map(({ name }) => name).filter((name) => unknown[name] !== true)
}

/** Where the runbook of an alert is, in the files of the bridge. */
export function runbookOf(name: string): string {
  return `deploy/monitoring/runbooks.md#${name.toLowerCase()}`
}

/** Gaps are dated by upstream's clock, but noticed by the bridge's. */
function isOlder(openedAt: OpenGapAnswer['openedAt'], nowMs: number): boolean {
  return nowMs - (millisOf(openedAt) ?? nowMs) > GAP_OPEN_MS
}
