import { expect, it } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { type ApiEvent, eventually, getJson, pullAll, readSse } from '../support/http/api-client.ts'
import { compare, expectComplete } from '../support/worlds/completeness.ts'

it('a fill that cannot finish is an open gap in status, metrics and every stream, and closes once filled', async () => {
  using directory = temporaryDirectory()
  const sandbox = await startSandbox(
    { scenario: 'morning-short', plan: 'lite', weeklyQuota: 1_000_000, seed: 5 },
    { clock: systemClock },
  )
  const reading = new AbortController()
  try {
    const bridge = await startBridge(bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: 'lite' }))
    const streamed: ApiEvent[] = []
    // A narrow filter: this reader gets gaps all the same.
    const streaming = readSse(
      `${bridge.ready.http}/v1/events?since=2000-01-01T00:00:00Z&fcaCategories=EOD`,
      ({ event, data }) => {
        if (event === 'gap') streamed.push(JSON.parse(data) as ApiEvent)
      },
      reading.signal,
    )
    const answer = await fetch(`${sandbox.adminUrl}/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'repeat-page', count: 4 }),
    })
    expect(answer.status).toBe(200)
    const status = () => getJson<{ gaps: { id: string; cause: string }[] }>(`${bridge.ready.http}/v1/status`)
    const { gaps } = await eventually(status, (now) => now.gaps.length > 0)
    expect(gaps[0]?.cause).toBe('overflow')
    const metrics = async () => (await fetch(`${bridge.ready.ops}/metrics`)).text()
    expect(await metrics()).toMatch(/bridge_gaps_open [1-9]/)
    await eventually(status, (now) => now.gaps.length === 0 && sandbox.finished(), 110_000)
    expect(await metrics()).toContain('bridge_gaps_open 0')
    const events = await eventually(
      () => pullAll(bridge.ready.http),
      (pulled) => compare(sandbox.truth().items, pulled).missing.length === 0,
    )
    expectComplete(sandbox.truth().items, events)
    const gapEvents = compare([], events).gaps
    const states = (id: string) =>
      gapEvents.filter((event) => event.data.id === id).map((event) => event.type)
    for (const { id } of gaps) expect(states(id)).toEqual(['bridge.gap.opened.v1', 'bridge.gap.filled.v1'])
    await eventually(
      () => streamed.map((event) => event.id),
      (ids) => ids.length === gapEvents.length,
    )
    expect(streamed.map((event) => event.id)).toEqual(gapEvents.map((event) => event.id))
    reading.abort()
    await streaming
    await bridge.stop()
  } finally {
    reading.abort()
    await sandbox.close()
  }
}, 180_000)
