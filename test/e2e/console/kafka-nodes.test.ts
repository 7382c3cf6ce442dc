/**
 * The console over Kafka in a real browser that is signed in at a node which neither leads nor delivers webhooks: it shows and
 * changes what other nodes do, outlives the leader, and outlives the node that serves it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { ADMIN_TOKEN, type BridgeProcess, temporaryDirectory } from '../../support/bridge-process.ts'
import { type BrowserPage, openInChromium } from '../../support/chromium.ts'
import { feedIds, openSignedIn, shownText, untilShown } from '../../support/console/console-browser.ts'
import { fillField, giveToken, pressButton } from '../../support/console/console-forms.ts'
import { eventually, getJson, pullAll, readSse } from '../../support/http/api-client.ts'
import { kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { type KafkaCluster, startCluster } from '../../support/kafka/cluster.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { kafkaNodes, type StartNode } from '../../support/kafka/kafka-nodes.ts'
import { type Publish, publisherOf } from '../../support/product/published-items.ts'
import { hasTool } from '../../support/tools.ts'
import { LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver, type WebhookReceiver } from '../../support/webhooks/webhook-receiver.ts'

const runtime = await kafkaRuntime()
const hasChromium = hasTool('chromium', 'chromium')
/** What the node of the browser does: it may lead, and it delivers nothing. */
const READING = 'poller,api,feed,console'
/** Most time until the page shows that its bridge is gone. */
const SHOWN_GONE_MS = 3000
/** Between two announcements, while somebody watches. */
const EVERY_MS = 400
/** The clock of the upstream is known to a second, and what is shown is some seconds old. */
const LATENESS_SECONDS = 1.5

describe.skipIf(runtime === null || !hasChromium)('the console over two nodes on Kafka', () => {
  const prefix = uniqueName('console')
  const disks = [temporaryDirectory(), temporaryDirectory()] as const
  const stopped = new AbortController()
  let cluster: KafkaCluster
  let sandbox: Sandbox
  let publish: Publish
  let receiver: WebhookReceiver
  let start: StartNode
  let other: BridgeProcess
  let own: BridgeProcess
  let page: BrowserPage

  beforeAll(async () => {
    if (runtime === null) return
    cluster = await startCluster({ runtime })
    receiver = await startReceiver()
    sandbox = await startSandbox(
      { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000, seed: 7, backlog: 20 },
      { clock: systemClock },
    )
    publish = publisherOf(sandbox)
    start = kafkaNodes('console', cluster.brokers, sandbox, {
      BRIDGE_TOPIC_PREFIX: prefix,
      BRIDGE_BACKFILL: 'PT1H',
      BRIDGE_LOG_LEVEL: 'error',
      ...LOCAL_RECEIVERS,
    })
    other = await start(disks[0].path, 'all')
    await leads(other, other)
    own = await start(disks[1].path, READING)
    await leads(other, own)
    page = await openInChromium(`${own.ready.http}/console/`)
  }, 180_000)

  afterAll(async () => {
    stopped.abort()
    await page?.[Symbol.asyncDispose]()
    await own?.stop('SIGKILL')
    await other?.stop('SIGKILL')
    await sandbox?.close()
    await receiver?.[Symbol.asyncDispose]()
    await cluster?.stop()
    for (const disk of disks) disk[Symbol.dispose]()
  })

  const nodeRow = (browser: BrowserPage, { pid }: BridgeProcess): Promise<string> =>
    browser.evaluate(
      `[...document.querySelectorAll('[aria-label="Table of nodes"] tbody tr')].map((row) => row.innerText).find((text) => text.includes(':${pid}')) ?? ''`,
    )

  it('shows at a node that only reads who leads, how late it is, who reads along and the quota', async () => {
    await openSignedIn(page, '/console/', ADMIN_TOKEN)
    await untilShown(page, '.glance-answer:nth-child(1) .glance-word', /\bYes$/)
    await untilShown(page, '.glance-answer:nth-child(2) .glance-word', /\bNo$/)
    await untilShown(page, 'main', 'Live')
    await page.open(`${own.ready.http}/console/status`)
    await untilShown(page, '[aria-label=Upstream]', `:${other.pid}`)
    await eventually(
      () => nodeRow(page, other),
      (row) => row.includes('leads') && row.includes('up') && !row.includes('this node'),
    )
    await eventually(
      () => nodeRow(page, own),
      (row) => row.includes('this node') && !row.includes('leads'),
    )
    const reading = readSse(`${own.ready.http}/v1/events`, () => {}, stopped.signal)
    const consumer = kafkaClient(cluster.brokers).consumer({ groupId: `${prefix}-desk` })
    await consumer.connect()
    await consumer.subscribe({ topic: `${prefix}.all`, fromBeginning: true })
    await consumer.run({ autoCommitThreshold: 1, eachMessage: async () => {} })
    try {
      await page.open(`${own.ready.http}/console/streams`)
      await untilShown(page, '[aria-label="Open streams"]', /server-sent events[\s\S]*has everything/)
      await untilShown(
        page,
        '[aria-label="Consumer groups"]',
        new RegExp(`${prefix}-desk[\\s\\S]*reading[\\s\\S]*1 consumer[\\s\\S]*has everything`),
      )
    } finally {
      await consumer.disconnect()
      stopped.abort()
      await reading
    }
    await page.open(`${own.ready.http}/console/quota`)
    await untilShown(page, 'main', 'The week on plan advanced')
    expect(await shownText(page, 'main')).toContain('1,000,000')
    expect(page.errors()).toEqual([])
  })

  it('makes a webhook that another node delivers to, and shows its attempts and its replay', async () => {
    await page.open(`${own.ready.http}/console/webhooks?new=1`)
    await fillField(page, 'URL', receiver.url)
    await pressButton(page, 'Edit the filter')
    await fillField(page, 'Headline contains', 'zebra')
    await pressButton(page, 'Apply')
    await pressButton(page, 'Create the webhook')
    await giveToken(page)
    const secret = (await untilShown(page, '.secret-once code', 'whsec_')).trim()
    await pressButton(page, 'I have stored it')
    await publish([{ headline: 'Zebra Results' }])
    await received(1)
    expect(receiver.verify(secret)).toHaveLength(1)
    await untilShown(page, '.list tbody tr', '204, accepted')
    await untilShown(page, '.endpoint-state', 'delivers')
    await pressButton(page, 'Replay')
    await pressButton(page, 'Last 7 days')
    await untilShown(page, '.replay-count', /^1 event/)
    await pressButton(page, 'Send 1 event again')
    await received(2)
    expect(receiver.verify(secret)).toHaveLength(2)
    await untilShown(page, 'section.panel', 'No replay is under way')
    expect(page.errors()).toEqual([])
  })

  const received = (count: number): Promise<number> =>
    eventually(
      () => receiver.received.length,
      (found) => found >= count,
    )

  it('says who leads after the leader was killed, how late that made it, and shows each announcement once', async () => {
    await using second = await openInChromium(`${own.ready.http}/console/`)
    await openSignedIn(second, '/console/status', ADMIN_TOKEN)
    await page.open(`${own.ready.http}/console/`)
    await untilShown(page, 'main', 'Live')
    const publishing = publishOn()
    await other.stop('SIGKILL')
    const killed = other
    await untilShown(second, '[aria-label=Upstream]', new RegExp(`:${own.pid}\\b[^\\n]*, this node`))
    await eventually(
      () => nodeRow(second, own),
      (row) => row.includes('leads') && row.includes('this node'),
    )
    await eventually(
      () => nodeRow(second, killed),
      (row) => !row.includes('leads'),
    )
    await untilShown(page, '.glance-answer:nth-child(1) .glance-word', /\bYes$/)
    await eventually(latenessFault, (fault) => fault === null)
    const published = await publishing.end()
    await hasAll(published)
    // Its last word is 15 s old at most, and counts for 45 s.
    await eventually(
      () => nodeRow(second, killed),
      (row) => row.includes('gone'),
      60_000,
    )
  })

  it('shows within three seconds that its node was killed, and goes on without a hole when it is back', async () => {
    other = await start(disks[0].path, 'all')
    const publishing = publishOn()
    const { http } = own.ready
    const killedMs = systemClock.now()
    await own.stop('SIGKILL')
    await untilShown(page, 'body', /The bridge does not answer[\s\S]*Cut off/)
    expect(systemClock.now() - killedMs).toBeLessThan(SHOWN_GONE_MS)
    await leads(other, other)
    own = await start(disks[1].path, READING, { BRIDGE_HTTP_PORT: new URL(http).port })
    expect(own.ready.http).toBe(http)
    await eventually(
      () => shownText(page, 'body'),
      (text) => text.includes('Live') && !text.includes('does not answer'),
    )
    await hasAll(await publishing.end())
    await page.open(`${http}/console/status`)
    await untilShown(page, '[aria-label=Upstream]', `:${other.pid}`)
    expect(page.errors()).toEqual([])
  })

  /** Publishes announcements until `end`, which gives their ids. */
  function publishOn(): { end: () => Promise<string[]> } {
    let isOver = false
    const run = async (): Promise<string[]> => {
      const ids: string[] = []
      while (!isOver) {
        ids.push(...(await publish([{ headline: `Watched ${ids.length}` }])))
        await new Promise<void>((resolve) => void systemClock.after(EVERY_MS, resolve))
      }
      return ids
    }
    const running = run()
    return {
      end() {
        isOver = true
        return running
      },
    }
  }

  /** Waits until the page shows the log's announcements to their end, each once and in order, these among them. */
  async function hasAll(published: readonly string[]): Promise<void> {
    const fault = async (): Promise<string | null> => {
      const events = await pullAll(own.ready.http)
      const wanted = events.filter(({ type }) => type.startsWith('disclosure.')).map(({ id }) => id)
      const shown = await feedIds(page)
      const missing = published.filter((id) => !shown.includes(id))
      if (missing.length > 0) return `not shown: ${missing.join(' ')}`
      const newest = wanted.toReversed().slice(0, shown.length)
      const at = shown.findIndex((id, index) => id !== newest[index])
      return at < 0 ? null : `row ${at + 1} is ${shown[at]}, not ${newest[at]}`
    }
    await eventually(fault, (found) => found === null)
  }

  /** What is wrong with the lateness on the page, against that of the events by the sandbox's own clock. */
  async function latenessFault(): Promise<string | null> {
    const events = (await pullAll(own.ready.http)).slice(-100)
    const aheadMs = sandbox.marketNow() - systemClock.now()
    const delays = events
      .map(({ time, recordedtime }) => Date.parse(recordedtime) + aheadMs - Date.parse(time))
      .filter((delayMs) => delayMs < 15 * 60_000)
      .sort((one, next) => one - next)
    const trueSeconds = Math.max(0, delays[Math.floor(delays.length / 2)] ?? 0) / 1000
    const word = await shownText(page, '.glance-answer:nth-child(3) .glance-word')
    const seconds = Number(/([\d.]+) s/.exec(word)?.[1])
    return Math.abs(seconds - trueSeconds) < LATENESS_SECONDS ? null : `${word}, not ${trueSeconds} s`
  }
})

/** Waits until a node says that this one leads. */
async function leads({ pid }: BridgeProcess, asked: BridgeProcess): Promise<void> {
  await eventually(
    () => getJson<{ leader: { id: string | null } }>(`${asked.ready.http}/v1/status`),
    ({ leader }) => leader.id?.endsWith(`:${pid}`) === true,
  )
}
