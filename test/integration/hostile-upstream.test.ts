/** Answers at the limits and beyond them, over a real socket, read as the poller reads them. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readItems } from '../../src/ingest/poller/read-page.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { inSlices } from '../../src/lifecycle/slices.ts'
import { createUpstreamClient, type SendPermit } from '../../src/upstream/client.ts'
import { createTransport, type Transport } from '../../src/upstream/transport.ts'
import { watchEventLoop } from '../support/time/event-loop-hold.ts'
import { hostileBodies } from '../support/worlds/hostile-answers.ts'

/** Above this, Kafka would be near to count the process as dead. */
const LONGEST_HOLD_MS = 200
const permit: SendPermit = { spend: async () => {}, throttle: async () => {} }
const { signal } = new AbortController()

let worker: Worker
let url = ''

beforeAll(async () => {
  worker = new Worker(new URL('../support/worlds/hostile-answers.ts', import.meta.url))
  const [port] = await once(worker, 'message')
  url = `http://127.0.0.1:${port}/v2`
})
afterAll(() => worker.terminate())

/** The answer of that name, and the longest time, of this thread's processor, between two turns of the event loop. */
async function answerTo(name: string) {
  // The name takes the place of the path, so that the real client sends the request.
  const transport = createTransport({ url, key: 'k', timeoutMs: 60_000, clock: systemClock })
  const named: Transport = {
    ...transport,
    get: (_, gone, options) => transport.get(`/${encodeURIComponent(name)}`, gone, options),
  }
  const now = () => systemClock.now()
  const client = createUpstreamClient({ transport: named, now, nativeWord: 'native' })
  const longestMs = watchEventLoop()
  const outcome = await client.list({ pageSize: 100 }, 'poll', permit, signal)
  const page = outcome.kind === 'ok' ? await readInSlices(outcome.value) : null
  const heldMs = longestMs()
  await client.close()
  return { outcome, page, heldMs }
}

function readInSlices(page: Parameters<typeof readItems>[0]) {
  const steps = readItems(
    page,
    () => new Map(),
    () => false,
    () => false,
    0,
  )
  return inSlices(steps, () => systemClock.now())
}

test.each(Object.keys(hostileBodies))(
  '%s: neither holds the event loop nor loses the good item beside it',
  async (name) => {
    const { outcome, page, heldMs } = await answerTo(name)
    expect(heldMs).toBeLessThan(LONGEST_HOLD_MS)
    if (/^(1,000,000|60 MB of members|more than)/.test(name)) {
      expect(outcome).toMatchObject({ kind: 'invalid', reason: expect.stringMatching(/larger|more than/) })
      return
    }
    if (name.startsWith('an error')) {
      expect(outcome.kind).toBe('server_error')
      return
    }
    expect(outcome.kind).toBe('ok')
    if (name.startsWith('5,000')) expect(page?.count).toBe(5000)
    else expect(page?.guids).toContain('good')
    for (const { raw } of page?.rejected ?? []) expect(Buffer.byteLength(raw)).toBeLessThan(790_000)
    expect(page?.latestCursor?.length ?? 0).toBeLessThan(5000)
  },
)

test('of an item above the limit the beginning, the length and the hash are kept, under its guid', async () => {
  const { page } = await answerTo('one item of 60 MB of text')
  expect(page?.rejected).toEqual([
    {
      raw: expect.stringMatching(
        /^\{"guid":"large".{786417}… \[62914\d{3} bytes in all, SHA-256 [0-9a-f]{64}\]$/,
      ),
      reason: 'larger than 524288 bytes',
      guid: 'large',
      recordedtime: '1970-01-01T00:00:00.000Z',
    },
  ])
})
