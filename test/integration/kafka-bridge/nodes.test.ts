/** Tests what nodes on Kafka say of each other, and which streams each of them has open, as processes. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { JourneyAnswer } from '../../../src/api/journey/journey-route.ts'
import type { NodesPage } from '../../../src/api/operations/nodes-route.ts'
import { PUBLISHED } from '../../../src/core/event.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { BridgeProcess } from '../../support/bridge-process.ts'
import { bearer, eventually, getJson } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodesOfTest } from '../../support/kafka/kafka-nodes.ts'
import { openStream } from '../../support/streams/ws-client.ts'

const brokers = await sharedBrokers()
/** Longest time until a node has heard of another, and of its last report as leader. */
const SOON_MS = 20_000

describe.skipIf(brokers === null)('nodes on Kafka', () => {
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await startSandbox(
      { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000, seed: 3, backlog: 20 },
      { clock: systemClock },
    )
  })
  afterAll(() => sandbox?.close())

  it('list each other with roles, leader and copy, see an orderly stop, and each lists its own streams', async () => {
    const start = kafkaNodesOfTest('nodes', brokers, sandbox, { BRIDGE_BACKFILL: 'P1D' })
    const first = await start('all')
    const second = await start('poller,api,feed')
    for (const node of [first, second]) {
      const { data } = await eventually(
        () => nodesOf(node),
        (page) => page.data.length === 2 && leadersOf(page).length === 1,
        SOON_MS,
      )
      expect(data.find(({ self }) => self)?.id).toMatch(new RegExp(`:${node.pid}$`))
      expect(byPid(data, first)).toMatchObject({ state: 'up', leads: true, roles: first.ready.roles })
      expect(byPid(data, second)).toMatchObject({
        state: 'up',
        leads: false,
        roles: second.ready.roles,
      })
    }
    const { log } = await getJson<{ log: { latest: number } }>(`${first.ready.http}/v1/status`)
    await eventually(
      () => nodesOf(second),
      ({ data }) => (byPid(data, first)?.copy.sequence ?? 0) >= log.latest,
      SOON_MS,
    )

    const client = await openStream({ url: second.ready.http, auth: bearer })
    onTestFinished(() => client.webSocket.terminate())
    await client.next('hello')
    expect(await streamsOf(first)).toEqual({ node: idOf(await nodesOf(first)), data: [], next: null })
    const own = await streamsOf(second)
    expect(own).toMatchObject({ node: idOf(await nodesOf(second)), data: [{ transport: 'ws' }] })
    const [stream] = own.data
    expect(await remove(first, `/v1/streams/${stream?.id}`)).toBe(404)
    expect(await remove(second, `/v1/streams/${stream?.id}`)).toBe(204)
    expect((await client.closed).code).toBe(4007)

    const consumers = await getJson<{ data: unknown[]; reason: string | null }>(
      `${second.ready.http}/v1/consumers`,
    )
    expect(consumers).toMatchObject({ data: [], reason: null })

    await first.stop('SIGTERM')
    const after = await eventually(
      () => nodesOf(second),
      (page) => leadersOf(page).length === 1,
      SOON_MS,
    )
    expect(byPid(after.data, first)).toMatchObject({ state: 'stopped', leads: false })
    expect(byPid(after.data, second)).toMatchObject({ state: 'up', leads: true, self: true })
  })

  it('tell each other when their readers saw an event, which `bridge why` shows on every node', async () => {
    const market = await startSandbox(
      { scenario: 'normal', plan: 'advanced', weeklyQuota: 1_000_000, seed: 3, backlog: 0, speed: 30 },
      { clock: systemClock },
    )
    onTestFinished(() => market.close())
    const start = kafkaNodesOfTest('journey', brokers, market, { BRIDGE_BACKFILL: 'P0D' })
    const [first, second] = [await start('all'), await start('api')]
    for (const node of [first, second]) {
      await eventually(
        () => statusOf(node),
        ({ copy }) => copy.filled === 1,
        SOON_MS,
      )
    }
    const { log } = await statusOf(second)
    // A busy machine may open a gap, whose event nobody has found.
    const { data } = await eventually(
      () => getJson<{ data: ListedEvent[] }>(`${second.ready.http}/v1/disclosures?tail=100`),
      (page) => firstItem(page.data, log.latest) !== undefined,
      SOON_MS,
    )
    const sequence = Number(firstItem(data, log.latest)?.sequence)
    for (const node of [second, first]) {
      await eventually(
        () => statusOf(node),
        (status) => status.log.latest >= sequence,
        SOON_MS,
      )
      const { timeline, foundBy } = await eventually(
        () => getJson<JourneyAnswer>(`${node.ready.http}/v1/disclosures/${sequence}/journey`),
        (journey) => seenIn(journey).length === 2,
        SOON_MS,
      )
      expect(['poll', 'fill']).toContain(foundBy)
      const steps = timeline.filter(({ at }) => at !== null).map(({ step }) => step)
      expect(steps).toEqual(
        expect.arrayContaining(['published', 'requested', 'received', 'committed', 'visible']),
      )
    }
  })
})

interface ListedEvent {
  type: string
  sequence: string
}

/** The first announcement after that sequence. */
function firstItem(events: readonly ListedEvent[], after: number): ListedEvent | undefined {
  return events.find(({ type, sequence }) => type === PUBLISHED && Number(sequence) > after)
}

interface NodeStatus {
  log: { latest: number }
  copy: { filled: number }
}

function statusOf({ ready }: BridgeProcess): Promise<NodeStatus> {
  return getJson<NodeStatus>(`${ready.http}/v1/status`)
}

/** The nodes whose readers are known to have seen the event. */
function seenIn({ timeline }: JourneyAnswer): JourneyAnswer['timeline'] {
  return timeline.filter(({ step, at }) => step === 'visible' && at !== null)
}

function nodesOf({ ready }: BridgeProcess): Promise<NodesPage> {
  return getJson<NodesPage>(`${ready.http}/v1/nodes`)
}

function streamsOf({ ready }: BridgeProcess): Promise<{ node: string; data: { id: string }[] }> {
  return getJson(`${ready.http}/v1/streams`)
}

async function remove({ ready }: BridgeProcess, path: string): Promise<number> {
  return (await fetch(`${ready.http}${path}`, { method: 'DELETE', headers: bearer })).status
}

function leadersOf({ data }: NodesPage): NodesPage['data'] {
  return data.filter(({ leads }) => leads === true)
}

function idOf({ data }: NodesPage): string | undefined {
  return data.find(({ self }) => self)?.id
}

function byPid(data: NodesPage['data'], { pid }: BridgeProcess) {
  return data.find(({ id }) => id.endsWith(`:${pid}`))
}
