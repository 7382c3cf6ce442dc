/**
 * Polls upstream into Kafka as a team would write it in a day: the baseline of `npm run bench -- ingest`. To be fair,
 * it saves its cursor to a file after the events it covers, retries, respects Retry-After, and sends idempotently.
 * Settings: UPSTREAM_URL, UPSTREAM_KEY, PAGE_SIZE, POLL_MS, KAFKA_BROKERS, TOPIC, STATE_FILE, OVERFLOW. The last
 * chooses how `hasMore` is read: `again`, the usual mistake, as another page under the same cursor; `walk`, as
 * documented, as items left out, which are then read by `pageCursor`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Kafka, logLevel, type Producer } from 'kafkajs'

interface Item {
  guid: string
  timestamp: string
}
interface Page {
  data: Item[]
  meta: { paging: { latestCursor?: string; hasMore?: boolean; nextCursor?: string | null } }
}
/** The saved state. */
interface State {
  cursor: string
  /** Timestamp of the newest item sent. */
  newest: string | null
}

/** Required environment variables. */
function setting(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}

const stateFile = setting('STATE_FILE')
const topic = setting('TOPIC')
const pollMs = Number(setting('POLL_MS'))
const walks = setting('OVERFLOW') === 'walk'
/** Guids seen since the start: a page scan repeats items of polls. */
const sent = new Set<string>()

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

/** The start position: the saved state, or the newest item's cursor on the first start. */
async function firstState(): Promise<State> {
  if (existsSync(stateFile)) return JSON.parse(readFileSync(stateFile, 'utf8')) as State
  const { data, meta } = await fetchPage({})
  if (meta.paging.latestCursor === undefined) throw new Error('upstream has no items yet')
  return save({ cursor: meta.paging.latestCursor, newest: data[0]?.timestamp ?? null })
}

function save(state: State): State {
  writeFileSync(stateFile, JSON.stringify(state))
  return state
}

/** Everything since the newest item sent, newest first. */
async function walkBack(newest: string | null): Promise<Item[]> {
  const items: Item[] = []
  for (let pageCursor: string | null | undefined; pageCursor !== null; ) {
    const page = await fetchPage({
      ...(newest === null ? {} : { dateFrom: newest }),
      ...(pageCursor === undefined ? {} : { pageCursor }),
    })
    items.push(...page.data)
    pageCursor = page.meta.paging.nextCursor ?? null
  }
  return items
}

async function publish(producer: Producer, newestFirst: readonly Item[]): Promise<void> {
  for (const item of newestFirst.toReversed()) {
    if (sent.has(item.guid)) continue
    await producer.send({ topic, messages: [{ key: item.guid, value: JSON.stringify(item) }] })
    sent.add(item.guid)
  }
}

async function main(): Promise<void> {
  const brokers = setting('KAFKA_BROKERS').split(',')
  const kafka = new Kafka({ clientId: 'plain-poller', brokers, logLevel: logLevel.ERROR })
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  let state: State | null = null
  for (;;) {
    let hasMore = false
    try {
      state ??= await firstState()
      const { data, meta } = await fetchPage({ sinceCursor: state.cursor })
      hasMore = meta.paging.hasMore === true
      await publish(producer, hasMore && walks ? await walkBack(state.newest) : data)
      state = save({
        cursor: meta.paging.latestCursor ?? state.cursor,
        newest: data[0]?.timestamp ?? state.newest,
      })
    } catch (error) {
      process.stderr.write(`${String(error)}\n`)
      hasMore = false
    }
    if (!hasMore || walks) await wait(pollMs)
  }
}

await main()
