/**
 * The baseline of `npm run bench -- ingest`: a poller into Kafka as a team would write it in a day. Owns being fair: it
 * keeps its cursor in a file, saves it after what it covers, retries, waits when told to, and sends idempotently. What
 * it gets wrong is what is usually got wrong: `hasMore` is read as "there is another page".
 * Settings: UPSTREAM_URL, UPSTREAM_KEY, PAGE_SIZE, POLL_MS, KAFKA_BROKERS, TOPIC, CURSOR_FILE.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Kafka, logLevel, type Producer } from 'kafkajs'

interface Page {
  data: { guid: string }[]
  meta: { paging: { latestCursor?: string; hasMore?: boolean } }
}

/** What the environment must say. */
function setting(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}

const cursorFile = setting('CURSOR_FILE')
const topic = setting('TOPIC')
const pollMs = Number(setting('POLL_MS'))

async function fetchPage(query: Record<string, string>): Promise<Page> {
  const parameters = new URLSearchParams({ pageSize: setting('PAGE_SIZE'), ...query })
  const answer = await fetch(`${setting('UPSTREAM_URL')}/disclosures/sources/rns/items?${parameters}`, {
    headers: { 'x-api-key': setting('UPSTREAM_KEY') },
    signal: AbortSignal.timeout(30_000),
  })
  if (answer.status === 429) await wait(Number(answer.headers.get('retry-after') ?? 5) * 1000)
  if (!answer.ok) throw new Error(`upstream answered ${answer.status}`)
  return (await answer.json()) as Page
}

/** Where to go on: the saved cursor, or the newest item's on the first start. */
async function firstCursor(): Promise<string> {
  if (existsSync(cursorFile)) return readFileSync(cursorFile, 'utf8')
  const { meta } = await fetchPage({})
  if (meta.paging.latestCursor === undefined) throw new Error('upstream has no items yet')
  return save(meta.paging.latestCursor)
}

function save(cursor: string): string {
  writeFileSync(cursorFile, cursor)
  return cursor
}

async function publish(producer: Producer, page: Page): Promise<void> {
  for (const item of page.data.toReversed()) {
    await producer.send({ topic, messages: [{ key: item.guid, value: JSON.stringify(item) }] })
  }
}

async function main(): Promise<void> {
  const brokers = setting('KAFKA_BROKERS').split(',')
  const kafka = new Kafka({ clientId: 'plain-poller', brokers, logLevel: logLevel.ERROR })
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  let cursor: string | null = null
  for (;;) {
    let hasMore = false
    try {
      cursor ??= await firstCursor()
      const page = await fetchPage({ sinceCursor: cursor })
      await publish(producer, page)
      if (page.meta.paging.latestCursor !== undefined) cursor = save(page.meta.paging.latestCursor)
      hasMore = page.meta.paging.hasMore === true
    } catch (error) {
      process.stderr.write(`${String(error)}\n`)
    }
    if (!hasMore) await wait(pollMs)
  }
}

await main()
