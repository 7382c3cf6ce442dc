import { expect, test } from 'vitest'
import { guids, item, openSandbox, type Reply, type TestSandbox, walk } from './sandbox-client.ts'

/** Polls with `sinceCursor` alone while the market runs; every guid it saw. */
async function poll({ list, clock }: TestSandbox, times: number, everyMs: number, pageSize: number) {
  const seen = new Set<string>()
  let overflows = 0
  let cursor = String((await list({ pageSize: 1 })).body.meta.paging.latestCursor)
  for (let time = 0; time < times; time++) {
    clock.advance(everyMs)
    const reply: Reply = await list({ sinceCursor: cursor, pageSize })
    for (const guid of guids(reply)) seen.add(guid)
    if (reply.body.meta.paging.hasMore === true) overflows += 1
    cursor = String(reply.body.meta.paging.latestCursor)
  }
  return { seen, overflows }
}

test('polling misses only the late item of a morning, and reading the minute again finds it', async () => {
  const opened = await openSandbox({ scenario: 'morning-short', plan: 'ultimate', seed: 4 })
  const { seen, overflows } = await poll(opened, 100, 500, 200)
  expect(overflows).toBe(0)
  const missed = opened.sandbox.truth().items.filter(({ guid }) => !seen.has(guid))
  expect(missed.map(({ timestamp, insertedAt }) => [timestamp, insertedAt.slice(11, 19)])).toEqual([
    ['2026-02-03T07:00:04Z', '07:00:11'],
  ])
  const again = await walk(opened.list, {
    pageSize: 200,
    dateFrom: '2026-02-03T07:00',
    dateTo: '2026-02-03T07:00',
  })
  expect(again).toContain(missed[0]?.guid)
  expect(again).toHaveLength(265)
})

test('a burst larger than a page overflows a poll, which returns the newest page and never the rest', async () => {
  const opened = await openSandbox({ scenario: 'morning-short', plan: 'lite' })
  const { seen, overflows } = await poll(opened, 50, 2_000, 50)
  expect(overflows).toBeGreaterThan(3)
  expect(seen.size).toBeLessThan(700)
  expect(await walk(opened.list, { pageSize: 50, dateFrom: '2026-02-03' })).toHaveLength(760)
})

test('a poller receives an amended item again only when its timestamp changed', async () => {
  for (const [scenario, contents] of [
    ['amended', 60],
    ['amended-in-place', 30],
  ] as const) {
    const { list, clock } = await openSandbox({ scenario })
    const texts = new Set<string>()
    let cursor = String((await list({ pageSize: 1 })).body.meta.paging.latestCursor)
    for (let time = 0; time < 90; time++) {
      clock.advance(1_000)
      const { body } = await list({ sinceCursor: cursor })
      for (const one of body.data) texts.add(JSON.stringify(one))
      cursor = String(body.meta.paging.latestCursor)
    }
    expect(texts.size).toBe(contents)
  }
})

test('a poller receives unreadable items among the valid ones and misses none of the valid ones', async () => {
  const opened = await openSandbox({ scenario: 'malformed' })
  const seen: unknown[] = []
  let cursor = String((await opened.list({ pageSize: 1 })).body.meta.paging.latestCursor)
  for (let time = 0; time < 70; time++) {
    opened.clock.advance(1_000)
    const { body } = await opened.list({ sinceCursor: cursor })
    seen.push(...body.data)
    cursor = String(body.meta.paging.latestCursor)
  }
  const { items, malformed } = opened.sandbox.truth()
  const texts = seen.map((one) => JSON.stringify(one))
  for (const { raw } of malformed) expect(texts).toContain(raw)
  const seenGuids = seen.map((one) => (one as { guid?: unknown } | null)?.guid)
  for (const { guid } of items) expect(seenGuids).toContain(guid)
  expect(seen).toHaveLength(50)
})

test('a cursor from an unreadable item skips no item of the same second', async () => {
  const { sandbox, list } = await openSandbox({ backlog: 0 })
  sandbox.publish([item('urn:x:1', '2026-02-03T11:00:00Z'), { headline: 'no guid' }])
  const sinceCursor = String((await list()).body.meta.paging.latestCursor)
  sandbox.publish([item('urn:x:2', '2026-02-03T11:00:00Z')])
  expect(guids(await list({ sinceCursor }))).toEqual(['urn:x:2'])
})

test('an item is found by its identifiers until it vanishes', async () => {
  const { sandbox, get, clock } = await openSandbox({ scenario: 'vanish' })
  clock.advance(10_000)
  const { guid } = sandbox.truth().items[0] ?? { guid: '' }
  const rnsDateId = `2026-02-03.${guid.split(':')[4]}`
  const statuses = async () =>
    Promise.all(
      [guid, rnsDateId].map(async (id) => (await get(`/disclosures/sources/rns/items/${id}`)).status),
    )
  expect(await statuses()).toEqual([200, 200])
  clock.advance(60_000)
  expect(await statuses()).toEqual([404, 404])
})
