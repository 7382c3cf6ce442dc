import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { filterTestRoute } from '../../../src/api/routes/filter-test-route.ts'
import type { Reader } from '../../../src/archive/reading/reader.ts'
import { decodeCursor } from '../../../src/core/cursor.ts'
import { isGap } from '../../../src/core/event.ts'
import { matches } from '../../../src/core/filter/filter.ts'
import { parseFilter } from '../../../src/core/filter/filter-parse.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { SendBuffers } from '../../../src/http/bounds/send-buffers.ts'
import { listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import {
  eventWith,
  gapAt,
  inPlace,
  items,
  memoryArchive,
  plainFacts,
  readerOver,
} from '../../archive/samples.ts'
import { someFacts, someFilter } from '../../core/filter/filter-samples.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

interface Answer {
  tested: number
  matched: number
  gaps: number
  filter: unknown
  from: string
  to: string
  data: { sequence: string; type: string }[]
}

const TOKEN = 'a token of the tests'

/** A listener with the route over that reader, and a function that requests it. */
async function serve(reader: Reader) {
  const { logger } = keepingLogger()
  const routes = [filterTestRoute(reader, new SendBuffers())]
  const app = createApp({ routes, authenticate: adminAuthenticate(TOKEN), corsOrigins: [], logger })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  const post = async (body: unknown): Promise<{ status: number; body: Record<string, unknown> }> => {
    const response = await fetch(`${listener.url}/v1/filters/test`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return {
    post,
    async tried(body: unknown): Promise<Answer> {
      const answer = await post(body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      return answer.body as unknown as Answer
    },
    [Symbol.asyncDispose]: () => listener.close(0),
  }
}

const sequences = ({ data }: Answer): number[] => data.map(({ sequence }) => Number(sequence))

describe('POST /v1/filters/test', () => {
  test('returns what a naive evaluator would have matched of the last events, gaps apart, the newest shown', async () => {
    const stretch = fc.array(someFacts, { minLength: 1, maxLength: 40 })
    const property = fc.asyncProperty(
      stretch,
      someFilter,
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 6 }),
      async (facts, filter, last, limit) => {
        const events = inPlace(facts.map((one, index) => eventWith(one, `g${index}`)))
        const archive = memoryArchive(events)
        await using api = await serve(readerOver(archive, 7).reader)
        const answer = await api.tried({ filter, last, limit })
        const looked = events.slice(-last)
        const disclosures = looked.filter(({ type }) => !isGap(type))
        const expected = disclosures.filter((event) => matches(filter, plainFacts(event)))
        expect({ tested: answer.tested, matched: answer.matched, gaps: answer.gaps }).toEqual({
          tested: disclosures.length,
          matched: expected.length,
          gaps: looked.length - disclosures.length,
        })
        expect(sequences(answer)).toEqual(expected.slice(-limit).map(({ sequence }) => sequence))
        expect([answer.from, answer.to].map((cursor) => decodeCursor(cursor).sequence)).toEqual([
          Math.max(0, events.length - last),
          events.length,
        ])
        archive.close()
      },
    )
    await fc.assert(property, { numRuns: 60 })
  })

  test('evaluates the last 1,000 events and shows 20 by default, over many reads', async () => {
    const archive = memoryArchive(inPlace([...items(2500), gapAt('g', Date.UTC(2026, 0, 6, 12))]))
    await using api = await serve(readerOver(archive, 300).reader)
    const usual = await api.tried({ filter: {} })
    expect([usual.tested, usual.matched, usual.gaps, usual.data.length]).toEqual([999, 999, 1, 20])
    const most = await api.tried({ filter: { q: 'item' }, last: 100_000, limit: 1000 })
    expect([most.tested, most.matched, most.gaps]).toEqual([2500, 2500, 1])
    expect(sequences(most)).toEqual(Array.from({ length: 1000 }, (_, index) => 1501 + index))
    archive.close()
  })

  test('answers an empty log with no events, and cursors that work', async () => {
    const archive = memoryArchive()
    await using api = await serve(readerOver(archive).reader)
    expect(await api.tried({ filter: {} })).toMatchObject({ tested: 0, matched: 0, gaps: 0, data: [] })
    archive.close()
  })

  test('ignores events published while it reads', async () => {
    const archive = memoryArchive(inPlace(items(10)))
    const { reader } = readerOver(archive)
    let asked = 0
    const standing = Object.create(reader, {
      latest: { get: () => (asked++ === 0 ? 6 : reader.latest) },
    }) as Reader
    await using api = await serve(standing)
    const answer = await api.tried({ filter: {}, last: 4 })
    expect([answer.tested, sequences(answer)]).toEqual([4, [3, 4, 5, 6]])
    archive.close()
  })

  test('returns the filter as it was parsed', async () => {
    const archive = memoryArchive(inPlace(items(1)))
    await using api = await serve(readerOver(archive).reader)
    const filter = { isins: ['gb00bh4hks39'], importance: 'high+', q: 'OFFER' }
    expect((await api.tried({ filter })).filter).toEqual(parseFilter(filter))
    archive.close()
  })

  test('accepts ten thousand identifiers', async () => {
    const archive = memoryArchive(inPlace(items(1)))
    await using api = await serve(readerOver(archive).reader)
    const leis = Array.from(
      { length: 10_000 },
      (_, index) => `213800TB53ELEUK${String(index).padStart(5, '0')}`,
    )
    expect((await api.tried({ filter: { leis } })).matched).toBe(0)
    archive.close()
  })

  test.each([
    [{ fliter: {} }, 'body_invalid', 'fliter', 'did you mean "filter"?'],
    [{ filter: {}, last: 100_001 }, 'body_invalid', 'last', 'from 1 to 100000'],
    [{ filter: {}, limit: 0 }, 'body_invalid', 'limit', 'from 1 to 1000'],
    [{ filter: { isin: [] } }, 'filter_invalid', 'filter.isin', 'did you mean "isins"?'],
    [{ filter: { preset: 'no-rutine' } }, 'filter_invalid', 'filter.preset', 'did you mean "no-routine"?'],
    [{ filter: 'all' }, 'filter_invalid', 'filter', 'must be a JSON object'],
  ])('refuses %j and names the fix', async (body, code, field, words) => {
    await using api = await serve(readerOver(memoryArchive()).reader)
    const answer = await api.post(body)
    expect(answer.status).toBe(400)
    const errors = answer.body.errors as unknown[]
    expect(answer.body.code).toBe(code)
    expect(errors[0]).toEqual({ field, message: expect.stringContaining(words) })
  })
})
