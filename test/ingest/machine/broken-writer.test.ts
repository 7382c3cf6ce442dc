/** Tests what the poller's state machine does after its writer has failed. */
import { expect, test } from 'vitest'
import { initialState, type StateName } from '../../../src/ingest/machine/state.ts'
import { step } from '../../../src/ingest/machine/step.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'

const NOW_MS = Date.parse('2026-01-06T12:00:00Z')
const LEADING: readonly StateName[] = ['catching-up', 'polling', 'filling', 'rescanning', 'backfilling']

function after(code: 'fenced' | 'unknown', name: StateName) {
  const { state, actions } = step(
    { ...initialState(), name, lastSeenMs: NOW_MS },
    { type: 'broke', code, nowMs: NOW_MS },
    ingestConfig(),
  )
  return { state: state.name, actions: actions.map(({ type }) => type) }
}

test('a poller whose writer was fenced gives up its term: it campaigns, and claims only when elected again', () => {
  for (const name of LEADING) {
    expect(after('fenced', name)).toEqual({ state: 'standby', actions: ['abandon', 'campaign'] })
  }
})

test('a poller whose last commit has an unknown outcome claims again in its term, and reads what is stored', () => {
  for (const name of LEADING) {
    expect(after('unknown', name)).toEqual({ state: 'claiming', actions: ['abandon', 'claim'] })
  }
})

test('what is known of the clocks outlives a failed write and a lost lead', () => {
  const clocks = {
    ...{ skewMs: 5000, hasDate: false, sightings: ['ours', 'neither'] as const, unfitPolls: 1 },
    ...{ newest: { timeMs: NOW_MS, seenMs: NOW_MS, seenOursMs: NOW_MS }, sightingSkewMs: 4000 },
  }
  for (const code of ['fenced', 'unknown'] as const) {
    const before = { ...initialState(), ...clocks, name: 'polling' as const, lastSeenMs: NOW_MS }
    const { state } = step(before, { type: 'broke', code, nowMs: NOW_MS + 1 }, ingestConfig())
    expect(state).toMatchObject({ ...clocks, lastSeenMs: NOW_MS + 1 })
  }
})
