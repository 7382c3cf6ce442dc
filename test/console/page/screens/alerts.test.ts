/** The status screen judges the alerts that the bridge's answers decide, under the names and severities of the rules. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import {
  type AlertFacts,
  alertsJudgedBy,
  judgedAlerts,
  openAlerts,
  runbookOf,
} from '../../../../src/console/page/screens/status/alert-rules.ts'
import type { NodesAnswer, StatusAnswer } from '../../../../src/console/page/shell/answers.ts'

const NOW = Date.parse('2026-11-23T09:00:00Z')
const at = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString()

const status: StatusAnswer = {
  leader: { id: 'host:1', since: at(-3600), self: true },
  upstream: { state: 'ok', lastGoodPoll: at(-3), nextPoll: at(4), phase: 'open', aheadMs: 0 },
  quota: { limit: 3500, used: 10, remaining: 3490, reset: at(90_000), forecast: 0.9, drift: null },
  log: { kind: 'embedded', epoch: 'Hx9CTJZ9', oldest: 1, latest: 900 },
  copy: { sequence: 900, lagEvents: 0, lagSeconds: 0, filled: 1 },
  completeness: '+day',
  unreconciled: [],
  gaps: [],
  roles: ['poller'],
  asOf: at(-1),
}
const node: NodesAnswer['data'][number] = {
  id: 'host:2',
  self: false,
  state: 'up',
  leads: false,
  roles: ['api'],
  version: '0.1.0',
  startedAt: at(-3600),
  lastSeen: at(-5),
  copy: { sequence: 7, lagEvents: 0, lagSeconds: 0, filled: 1 },
}
const gap = {
  id: 'a',
  from: at(-700),
  to: at(-690),
  cause: 'overflow',
  openedAt: at(-601),
  found: 0,
  closedAt: null,
}
const facts: AlertFacts = { status, nodes: [node], givenUpMs: [], nowMs: NOW }
const named = (changes: Partial<StatusAnswer>, more: Partial<AlertFacts> = {}): string[] =>
  openAlerts({ ...facts, status: { ...status, ...changes }, ...more }).map(({ name }) => name)

test('each alert of this page is one of the rules for Prometheus, with the same severity and runbook', () => {
  const { groups } = parse(readFileSync('deploy/monitoring/rules/bridge.yml', 'utf8')) as {
    groups: {
      rules: { alert?: string; labels?: { severity: string }; annotations?: { runbook_url: string } }[]
    }[]
  }
  const known = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined)
  for (const { name, severity } of judgedAlerts) {
    const rule = known.find(({ alert }) => alert === name)
    // Without the external label that says where the runbooks are.
    const runbook = rule?.annotations?.runbook_url.replace(/\{\{ or \S+ "(.+)" \}\}/, '$1')
    expect([rule?.labels?.severity, runbook], name).toEqual([severity, runbookOf(name)])
  }
})

test('of a bridge that works no alert is open, nor of a planned silence', () => {
  expect(named({})).toEqual([])
  expect(named({ upstream: { ...status.upstream, lastGoodPoll: at(-30_000), nextPoll: at(3600) } })).toEqual(
    [],
  )
})

const paused = (seconds: number) => ({ paused: true, since: at(-seconds), by: 'settings', reason: null })
const unpolled = { ...status.upstream, lastGoodPoll: at(-5000), nextPoll: null, state: 'failing' as const }

test.each<[string, Partial<StatusAnswer>, Partial<AlertFacts>]>([
  ['BridgeDown', {}, { nodes: [{ ...node, state: 'gone' }] }],
  ['BridgeLeaderCount', { leader: { id: null, since: null, self: false } }, {}],
  ['BridgeLeaderCount', { asOf: at(-61) }, {}],
  ['BridgeNoGoodPoll', { upstream: { ...status.upstream, lastGoodPoll: at(-200), nextPoll: at(-61) } }, {}],
  ['BridgeNoGoodPoll', { upstream: { ...status.upstream, lastGoodPoll: at(-61), state: 'failing' } }, {}],
  ['BridgeNoGoodPoll', { upstream: { ...status.upstream, lastGoodPoll: at(-61), state: 'throttled' } }, {}],
  ['BridgeGapOpen', { gaps: [gap] }, {}],
  ['BridgePollingPaused', { polling: paused(3600), gaps: [gap], upstream: unpolled }, {}],
  ['BridgeGapGivenUp', {}, { givenUpMs: [NOW - 3_599_000] }],
  ['BridgeQuotaForecast', { quota: { ...status.quota, forecast: 1.2 } }, {}],
  ['BridgeQuotaLow', { quota: { ...status.quota, remaining: 349 } }, {}],
  ['BridgeCopyBehind', { copy: { ...status.copy, lagSeconds: 31 } }, {}],
  ['BridgeCopyBehind', {}, { nodes: [{ ...node, copy: { ...node.copy, lagSeconds: 31 } }] }],
])('%s is open where its condition holds', (name, changes, more) => {
  expect(named(changes, more)).toEqual([name])
})

test('while polling is paused, nothing that follows from it is open', () => {
  expect(named({ polling: paused(3599), gaps: [gap], upstream: unpolled })).toEqual([])
})

test('what is below the limits opens nothing, and what is not known is not judged', () => {
  expect(named({ gaps: [{ ...gap, openedAt: at(-599) }] })).toEqual([])
  expect(named({ gaps: null }, { nodes: null, givenUpMs: null })).toEqual([])
  expect(named({}, { givenUpMs: [NOW - 3_600_000] })).toEqual([])
  expect(named({}, { nodes: [{ ...node, state: 'stopped' }] })).toEqual([])
})

test('alerts that page come before those that can wait, and each says what to do', () => {
  const open = openAlerts({
    ...facts,
    status: { ...status, gaps: [gap], quota: { ...status.quota, forecast: 1.2 } },
    nodes: [{ ...node, state: 'gone' }],
  })
  expect(open.map(({ severity }) => severity)).toEqual(['page', 'ticket', 'ticket'])
  for (const { summary, todo } of open) for (const text of [summary, todo]) expect(text).toMatch(/\.$/)
})

test('what is listed as judged is what is known enough to be judged', () => {
  const all = judgedAlerts.map(({ name }) => name)
  expect(alertsJudgedBy(facts)).toEqual(all)
  const left = (more: Partial<AlertFacts>) =>
    all.filter((name) => !alertsJudgedBy({ ...facts, ...more }).includes(name))
  expect(left({ nodes: null })).toEqual(['BridgeDown'])
  expect(left({ givenUpMs: null })).toEqual(['BridgeGapGivenUp'])
  expect(left({ status: { ...status, gaps: null } })).toEqual(['BridgeGapOpen'])
  const quota = { ...status.quota, forecast: null, limit: null }
  expect(left({ status: { ...status, quota } })).toEqual(['BridgeQuotaForecast', 'BridgeQuotaLow'])
})
