/**
 * Tests what nodes on Kafka say of the leader: the same on all of them, while a leader is frozen, when another takes over,
 * and after a restart.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Status } from '../../../src/api/routes/status.ts'
import { sleep, systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { ADMIN_TOKEN, type BridgeProcess } from '../../support/bridge-process.ts'
import { bearer, eventually } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodesOfTest } from '../../support/kafka/kafka-nodes.ts'
import { statusOf } from '../../support/product/bridge-status.ts'
import { openStream } from '../../support/streams/ws-client.ts'

const brokers = await sharedBrokers()
/** Longest time until every node knows what the leader last said. */
const SOON_MS = 15_000
/** An older word means that the leader is silent. */
const HEALTHY_MS = 10_000
const LIST = '/v2/disclosures/sources/rns/items?pageNumber=1&pageSize=1'

describe.skipIf(brokers === null)('nodes on Kafka', () => {
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await startSandbox(
      { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000, seed: 3, backlog: 20 },
      { clock: systemClock },
    )
  })
  afterAll(() => sandbox?.close())

  const installation = () => kafkaNodesOfTest('knows', brokers, sandbox, { BRIDGE_BACKFILL: 'P1D' })

  it('say what the leader says, with when it said so, whether they poll or not', async () => {
    const start = installation()
    const leader = await start('all')
    await eventually(
      () => statusOf(leader),
      ({ upstream }) => upstream.state === 'ok',
    )
    const others = [await start('all'), await start('api,feed')]
    const said = await statusOf(leader)
    expect(said.leader).toMatchObject({ id: expect.stringMatching(/:\d+$/), self: true })
    for (const node of others) {
      const heard = await eventually(
        () => statusOf(node),
        ({ asOf }) => asOf !== null,
        SOON_MS,
      )
      expect(heard).toMatchObject({
        leader: { ...said.leader, self: false },
        upstream: { state: 'ok', lastGoodPoll: expect.any(String), nextPoll: expect.any(String) },
        quota: { limit: 1_000_000, used: expect.any(Number), reset: expect.any(String) },
        completeness: said.completeness,
        gaps: [],
      })
      expect(heard.quota.used).toBeGreaterThan(0)
      expect(ageMs(heard)).toBeLessThan(HEALTHY_MS)
      const scrape = await (await fetch(`${node.ready.ops}/metrics`)).text()
      expect(scrape).not.toMatch(/^bridge_(quota_|gaps_open|poll_interval|poll_last)/m)
      const reportedMs = 1000 * Number(/^bridge_leader_report_timestamp_seconds (.*)$/m.exec(scrape)?.[1])
      expect(Date.now() - reportedMs).toBeLessThan(HEALTHY_MS)
    }
    for (const untilMs = Date.now() + SOON_MS; Date.now() < untilMs; await sleep(systemClock, 250)) {
      for (const node of others) expect(ageMs(await statusOf(node))).toBeLessThan(HEALTHY_MS)
    }
    // The sandbox's market runs in another year than this machine.
    const total = await eventually(
      () => totalOf(leader),
      (items) => items > 0,
    )
    for (const node of others) {
      await eventually(
        () => totalOf(node),
        (items) => items >= total,
      )
    }
    const client = await openStream({ url: others[1]?.ready.http ?? '', auth: bearer })
    client.send({ action: 'subscribe', filter: { q: 'no headline says this' } })
    await eventually(
      () => client.messages.find(({ type }) => type === 'heartbeat'),
      (heartbeat) => heartbeat !== undefined,
    )
    expect(await client.next('heartbeat')).toMatchObject({
      lastGoodPoll: expect.any(String),
      nextPoll: expect.any(String),
      asOf: expect.any(String),
      upstreamState: 'ok',
      openGaps: 0,
      quotaRemaining: expect.any(Number),
      leader: expect.stringMatching(/^[0-9a-f]{12}$/),
      leaderSince: said.leader.since,
    })
    // Nobody takes over.
    await others[0]?.stop('SIGKILL')
    await leader.stop('SIGKILL')
    const killedMs = Date.now()
    const toldMs = new Promise<number>((done) =>
      client.webSocket.on('message', (data) => {
        const { type, asOf } = JSON.parse(String(data)) as { type: string; asOf: string }
        if (type === 'heartbeat' && Date.now() - Date.parse(asOf) > HEALTHY_MS) done(Date.now())
      }),
    )
    expect((await toldMs) - killedMs).toBeLessThan(SOON_MS)
    client.webSocket.close()
  })

  it('keep the last word of a frozen leader, follow its successor, and never go back', async () => {
    const start = installation()
    const first = await start('poller,api')
    const reader = await start('api')
    const before = await eventually(
      () => statusOf(reader),
      ({ upstream }) => upstream.state === 'ok',
    )
    first.child.kill('SIGSTOP')
    await eventually(
      () => statusOf(reader),
      (status) => ageMs(status) > 3000,
    )
    const kept = await statusOf(reader)
    expect(kept).toMatchObject({ leader: before.leader, upstream: { state: 'ok' } })
    const second = await start('poller,api')
    const leads = (status: Status): boolean => status.leader.id?.endsWith(`:${second.pid}`) === true
    await eventually(() => statusOf(reader), leads)
    expect((await statusOf(second)).leader.self).toBe(true)
    first.child.kill('SIGCONT')
    await eventually(() => statusOf(first), leads, SOON_MS)
    for (const untilMs = Date.now() + 5000; Date.now() < untilMs; ) {
      for (const node of [first, reader]) {
        const status = await statusOf(node)
        expect([leads(status), status.leader.self]).toEqual([true, false])
      }
    }
    const late = await start('api')
    await eventually(() => statusOf(late), leads, SOON_MS)
    await second.stop('SIGKILL')
    const again = await eventually(
      () => statusOf(reader),
      ({ leader }) => leader.id === before.leader.id,
    )
    expect(Date.parse(again.leader.since ?? '')).toBeGreaterThan(Date.parse(before.leader.since ?? ''))
  })
})

/** How long ago the leader said what this status has of it, ms. */
function ageMs({ asOf }: Status): number {
  return Date.now() - Date.parse(asOf ?? '')
}

/** Items that the mirror counts; 0 while it cannot answer yet. */
async function totalOf({ ready }: BridgeProcess): Promise<number> {
  const response = await fetch(`${ready.http}${LIST}`, { headers: { 'x-api-key': ADMIN_TOKEN } })
  const { meta } = (await response.json()) as { meta?: { paging: { itemTotal: number } } }
  return meta?.paging.itemTotal ?? 0
}
