/** Tests batches of the started product over a sandbox: a receiver that fails every second one, and a kill -9 among them. */
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { type ApiEvent, eventually, pullAll } from '../../support/http/api-client.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { type Attempt, wholeList } from '../../support/webhooks/webhook-lists.ts'
import { type Received, startReceiver } from '../../support/webhooks/webhook-receiver.ts'
import { owedOf } from '../../support/webhooks/webhook-verdict.ts'

const MAX_BATCH = 10
const SLOTS = 2
/** Events before the kill, and in all. */
const BEFORE_KILL = 150
const EVENTS = 700

const idOf = ({ headers }: Received): string => String(headers['webhook-id'])
const sequencesIn = ({ body }: Received): number[] =>
  (JSON.parse(body) as ApiEvent[]).map(({ sequence }) => Number(sequence))

it('every batch is signed and in order; of those that fail and over a kill -9 none is lost, and a retry keeps its id', async () => {
  using directory = temporaryDirectory()
  await using sandbox = await startSandbox(
    { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 9, speed: 6 },
    { clock: systemClock },
  ).then((own) => Object.assign(own, { [Symbol.asyncDispose]: () => own.close() }))
  const env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    // The flood takes ten seconds; on a slow machine it is over before the bridge has started.
    BRIDGE_BACKFILL: 'P1D',
    ...LOCAL_RECEIVERS,
  })
  const seen = new Set<string>()
  const accepted: Received[] = []
  const delivered = new Set<number>()
  await using receiver = await startReceiver((response, request) => {
    const isNew = !seen.has(idOf(request))
    seen.add(idOf(request))
    const fails = isNew && seen.size % 2 === 0
    if (!fails) {
      accepted.push(request)
      for (const sequence of sequencesIn(request)) delivered.add(sequence)
    }
    response.writeHead(fails ? 500 : 204).end()
  })
  let bridge = await startBridge(env)
  try {
    const wanted = { url: receiver.url, maxBatch: MAX_BATCH, maxConcurrency: SLOTS, since: '2000-01-01' }
    const { id, secret } = await askEndpoints(bridge.ready.http, 'POST', '', wanted)
    await eventually(
      () => delivered.size,
      (size) => size >= BEFORE_KILL,
    )
    await bridge.stop('SIGKILL')
    expect(delivered.size).toBeLessThan(EVENTS)
    bridge = await startBridge(env)
    const all = await eventually(
      () => pullAll(bridge.ready.http),
      ({ length }) => length >= EVENTS,
    )
    const owed = owedOf(all).map(({ sequence }) => Number(sequence))
    await eventually(
      () => owed.filter((sequence) => !delivered.has(sequence)),
      ({ length }) => length === 0,
      60_000,
    )
    await askEndpoints(bridge.ready.http, 'POST', `/${id}/disable`)

    expect(receiver.verify(secret)).toHaveLength(receiver.received.length)
    const bodies = new Map<string, string>()
    for (const request of receiver.received) {
      expect(request.headers['content-type']).toBe('application/cloudevents-batch+json; charset=utf-8')
      const sequences = sequencesIn(request)
      expect(sequences.length).toBeLessThanOrEqual(MAX_BATCH)
      expect(sequences).toEqual([...new Set(sequences)].sort((one, other) => one - other))
      expect(bodies.get(idOf(request)) ?? request.body).toBe(request.body)
      bodies.set(idOf(request), request.body)
    }
    // The last ones may wait for their retry; those in flight at the kill may come again in other batches.
    const acceptedIds = new Set(accepted.map(idOf))
    const isOwed = (request: Received): boolean =>
      sequencesIn(request).every((one) => one <= (owed.at(-1) ?? 0))
    const changed = receiver.received.filter((one) => isOwed(one) && !acceptedIds.has(idOf(one)))
    expect(changed.length).toBeLessThanOrEqual(SLOTS)
    const repeats = accepted.flatMap(sequencesIn).length - delivered.size
    expect(repeats).toBeLessThanOrEqual(SLOTS * MAX_BATCH)
    expect(Math.max(...accepted.map((request) => sequencesIn(request).length))).toBe(MAX_BATCH)

    const { health } = await askEndpoints(bridge.ready.http, 'GET', `/${id}`)
    expect(health).toMatchObject({ dead: 0, p50Ms: expect.any(Number), p95Ms: expect.any(Number) })
    expect(Date.now() - Date.parse(health.lastSuccess ?? '')).toBeLessThan(60_000)
    const [last] = accepted
      .slice(-1)
      .map((request) => ({ id: idOf(request), count: sequencesIn(request).length }))
    await eventually(
      () => wholeList<Attempt>(bridge.ready.http, `${id}/attempts?outcome=ok`),
      (attempts) => attempts.filter(({ webhookId }) => webhookId === last?.id).length === last?.count,
    )
  } finally {
    await bridge.stop('SIGKILL')
  }
})
