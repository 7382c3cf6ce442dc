import { describe, expect, test } from 'vitest'
import type { ReadRequest } from '../../../src/archive/reading/reader.ts'
import { encodeCursor } from '../../../src/core/cursor.ts'
import type { EndpointMachine } from '../../../src/webhooks/delivery-state/endpoint-machine.ts'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { EPOCH, eventAt, REPLICA } from '../../support/store.ts'

const SCOPES = ['webhooks:read', 'webhooks:write', 'webhooks:replay']
const BEFORE_ALL = '2016-01-01'

/** An API over a hundred events with an endpoint for results (every tenth), and a token that may replay. */
async function replaying(parts: Parameters<typeof startApi>[0] = {}) {
  const api = await startApi({ count: 100, ...parts })
  const token = await tokenOf(api, 'desk', SCOPES)
  const endpoint = { url: 'https://hooks.example/in', filter: { fcaCategories: ['FR'] } }
  const { id } = (await ask(api, token, '/v1/webhooks', 'POST', endpoint)).body
  const replay = (body: unknown) => ask(api, token, `/v1/webhooks/${id}/replay`, 'POST', body)
  return { api, token, id, replay }
}

function asked({ recovery }: ApiServer, endpointId: string) {
  return recovery.commands.of(endpointId).map(({ command }) => command)
}

describe('POST /v1/webhooks/{id}/replay', () => {
  test('accepts a window by cursor, by time or open-ended, and returns the number of deliveries', async () => {
    const { api, id, replay } = await replaying()
    await using _ = api
    const { reader } = api.store
    const byCursor = await replay({ after: reader.cursorAt(10), until: reader.cursorAt(50) })
    expect(byCursor).toMatchObject({ status: 202, body: { count: 4, more: false } })
    expect(byCursor.body.id).toMatch(/^rp_/)
    expect((await replay({ since: eventAt(60).time, until: eventAt(70).time })).body.count).toBe(2)
    expect((await replay({ since: eventAt(95).time })).body.count).toBe(1)
    const [since, until] = [60, 70].map((sequence) => eventAt(sequence).time.replace(/Z$/, '+00:00'))
    expect((await replay({ since, until, dryRun: true })).body.count).toBe(2)
    expect(asked(api, id)).toMatchObject([
      { kind: 'replay', epoch: EPOCH, after: 10, until: 50, only: null },
      { after: 59, until: 70 },
      { after: 94, until: 100 },
    ])
  })

  test('accepts a date as the whole of that day, and a time before all events', async () => {
    const { api, id, replay } = await replaying()
    await using _ = api
    expect((await replay({ since: '2026-01-06', until: '2026-01-06' })).body.count).toBe(10)
    expect((await replay({ since: '2026-01-06', until: '2026-01-05' })).status).toBe(400)
    expect((await replay({ since: BEFORE_ALL })).body.count).toBe(10)
    expect(asked(api, id)).toMatchObject([
      { after: 0, until: 100 },
      { after: 0, until: 100 },
    ])
  })

  test('accepts ids, also of events outside the filter, and refuses ids beyond retention', async () => {
    const { api, id, replay } = await replaying()
    await using _ = api
    const ids = [eventAt(77).id, eventAt(7).id, eventAt(77).id]
    expect((await replay({ ids })).body.count).toBe(2)
    expect(asked(api, id)).toMatchObject([{ after: 6, until: 77, only: [7, 77] }])
    const refused = await replay({ ids: [eventAt(7).id, 'urn:none', `${eventAt(8).id}#2`] })
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [
        { field: 'ids[1]', message: 'no disclosure of this id is kept' },
        { field: 'ids[2]', message: 'no disclosure of this id is kept' },
      ],
    ])
  })

  test('only counts with dryRun, and starts nothing if nothing matches', async () => {
    const { api, id, replay } = await replaying()
    await using _ = api
    const counted = await replay({ since: BEFORE_ALL, dryRun: true })
    expect([counted.status, counted.body]).toEqual([200, { id: null, count: 10, waiting: 0, more: false }])
    const empty = await replay({ after: api.store.reader.cursorAt(95), until: api.store.reader.cursorAt(99) })
    expect([empty.status, empty.body]).toEqual([200, { id: null, count: 0, waiting: 0, more: false }])
    expect(asked(api, id)).toEqual([])
  })

  test('requests the number of dead deliveries from the shard owner; 503 with Retry-After if there is none', async () => {
    const { api, id, replay } = await replaying()
    await using _ = api
    const stop = new AbortController()
    const dead = { in: (after: number, until: number) => Array.from({ length: (until - after) / 2 }) }
    const worker = {
      replay: async () => false,
      cancelReplay: async () => false,
      machineOf: () => ({ dead, cursors: { replayIds: () => ['rp_another'] } }) as unknown as EndpointMachine,
      hasten: async () => true,
      isSending: () => false,
    }
    const running = api.recovery.runner(() => worker).run(stop.signal)
    const counted = await replay({ since: BEFORE_ALL, dead: true })
    expect([counted.status, counted.body.count]).toEqual([202, 50])
    expect(asked(api, id)).toMatchObject([{ only: 'dead', after: 0, until: 100 }])
    stop.abort()
    await running
    const unanswered = replay({ since: BEFORE_ALL, dead: true })
    await until(() => asked(api, id).some(({ kind }) => kind === 'count'))
    api.clock.advance(10_000)
    const { status, body, headers } = await unanswered
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '5'])
    expect(asked(api, id)).toHaveLength(1)
  })

  test('answers 410 with the oldest cursor if the window begins beyond retention', async () => {
    const { api, replay } = await replaying({ first: 50, count: 20 })
    await using _ = api
    const { reader } = api.store
    const after = encodeCursor({ epoch: EPOCH, sequence: 10, timeMs: 0 })
    const { status, body } = await replay({ after })
    expect([status, body.code, body.oldest]).toEqual([410, 'cursor_too_old', reader.cursorAt(49)])
    expect((await replay({ after: body.oldest })).status).toBe(202)
  })

  test('never goes past the end of this replica, whatever a cursor says', async () => {
    const { api, id, replay } = await replaying({ replica: REPLICA })
    await using _ = api
    const ahead = encodeCursor({ epoch: EPOCH, sequence: 2 ** 50, timeMs: 0 })
    expect((await replay({ since: eventAt(90).time, until: ahead })).status).toBe(202)
    expect((await replay({ after: ahead })).body).toEqual({ id: null, count: 0, waiting: 0, more: false })
    expect(asked(api, id)).toMatchObject([{ until: 100 }])
  })

  test('queues ten of an endpoint and answers 429 to more, but not to dry runs', async () => {
    const { api, id, replay } = await replaying()
    await using _ = api
    for (let count = 0; count < 10; count++) expect((await replay({ since: BEFORE_ALL })).status).toBe(202)
    const { status, body, headers } = await replay({ since: BEFORE_ALL })
    expect([status, body.code, headers.get('retry-after')]).toEqual([429, 'too_many', '5'])
    expect((await replay({ since: BEFORE_ALL, dryRun: true })).status).toBe(200)
    expect(asked(api, id)).toHaveLength(10)
  })

  test('counts four at a time of a tenant, and answers 429 to more, but not to other tenants', async () => {
    const gate = Promise.withResolvers<void>()
    let reads = 0
    const api = await startApi({
      count: 10,
      reader: ({ reader }) =>
        Object.create(reader, {
          read: {
            async value(request: ReadRequest) {
              reads += 1
              await gate.promise
              return reader.read(request)
            },
          },
        }),
    })
    await using _ = api
    const token = await tokenOf(api, 'desk', SCOPES)
    const made = await ask(api, token, '/v1/webhooks', 'POST', { url: 'https://hooks.example/in' })
    const other = await tokenOf(api, 'other', SCOPES)
    const others = await ask(api, other, '/v1/webhooks', 'POST', { url: 'https://hooks.example/in' })
    const count = () =>
      ask(api, token, `/v1/webhooks/${made.body.id}/replay`, 'POST', { since: BEFORE_ALL, dryRun: true })
    const four = [count(), count(), count(), count()]
    await until(() => reads === 4)
    expect((await count()).body.code).toBe('too_many')
    const path = `/v1/webhooks/${others.body.id}/replay`
    const fifth = ask(api, other, path, 'POST', { since: BEFORE_ALL, dryRun: true })
    await until(() => reads === 5)
    gate.resolve()
    expect((await fifth).status).toBe(200)
    expect((await Promise.all(four)).map(({ body }) => body.count)).toEqual([10, 10, 10, 10])
    expect((await count()).status).toBe(200)
  })

  test('needs its own scope, and checks the id before the body', async () => {
    const { api, id } = await replaying()
    await using _ = api
    const writer = await tokenOf(api, 'desk')
    expect((await ask(api, writer, `/v1/webhooks/${id}/replay`, 'POST', {})).status).toBe(403)
    const other = await tokenOf(api, 'other', SCOPES)
    expect((await ask(api, other, `/v1/webhooks/${id}/replay`, 'POST', { oops: 1 })).status).toBe(404)
  })

  test.each<[what: string, body: unknown, code: string, field: string | null, words: RegExp]>([
    ['nothing', {}, 'body_invalid', 'after', /one of after, since, ids/],
    ['a list', [], 'body_invalid', null, /JSON object/],
    ['a near match', { sinse: BEFORE_ALL }, 'body_invalid', 'sinse', /mean "since"/],
    ['two beginnings', { since: BEFORE_ALL, ids: ['a'] }, 'body_invalid', 'ids', /does not go with `since`/],
    [
      'a prototype',
      '{"since":"2016","__proto__":{"dead":true}}',
      'body_invalid',
      '__proto__',
      /not a member/,
    ],
    ['a name twice', '{"since":"2016","since":"2017"}', 'body_malformed', null, /twice/],
    ['a cut cursor', { after: 'AUVwb2No' }, 'cursor_invalid', null, /not a cursor/],
    ['a number for a cursor', { after: 5 }, 'body_invalid', 'after', /must be a cursor/],
    [
      'a cut cursor at the end',
      { since: BEFORE_ALL, until: 'AUVwb2No' },
      'cursor_invalid',
      null,
      /not a cursor/,
    ],
    ['30 February', { since: '2026-02-30' }, 'body_invalid', 'since', /not a time/],
    ['the future', { since: '2126' }, 'body_invalid', 'since', /future/],
    ['1e400', '{"since":1e400}', 'body_invalid', 'since', /a time such as/],
    ['half a character', { since: '\ud800' }, 'body_invalid', 'since', /not a time/],
    [
      'an end before',
      { since: '2026-01-07', until: '2026-01-06' },
      'body_invalid',
      'until',
      /before `since`/,
    ],
    ['no ids', { ids: [] }, 'body_invalid', 'ids', /1 to 1000/],
    ['1,001 ids', { ids: Array(1001).fill('a') }, 'body_invalid', 'ids', /1 to 1000/],
    ['ids that are none', { ids: [5] }, 'body_invalid', 'ids[0]', /id of an event/],
    ['ids with an end', { ids: ['a'], until: '2026' }, 'body_invalid', 'until', /not go with/],
    ['dead ids', { ids: ['a'], dead: true }, 'body_invalid', 'dead', /not go with/],
    ['a word for dead', { since: BEFORE_ALL, dead: 'yes' }, 'body_invalid', 'dead', /true or false/],
    ['a number for dryRun', { since: BEFORE_ALL, dryRun: 1 }, 'body_invalid', 'dryRun', /true or false/],
  ])('refuses %s with a readable error, and stores nothing', async (_what, body, code, field, words) => {
    const { api, id, replay } = await replaying()
    await using _ = api
    const refused = await replay(body)
    expect([refused.status, refused.body.code]).toEqual([400, code])
    const error = refused.body.errors.find((one: { field: string }) => one.field === field)
    expect(field === null ? refused.body.detail : error?.message).toMatch(words)
    expect(asked(api, id)).toEqual([])
  })

  test('refuses an end of another epoch or history, and one before the beginning', async () => {
    const { api, replay } = await replaying()
    await using _ = api
    const { reader } = api.store
    const other = encodeCursor({ epoch: 'Epoch000', sequence: 5, timeMs: 0 })
    const ahead = encodeCursor({ epoch: EPOCH, sequence: 101, timeMs: eventAt(101).timeMs })
    expect((await replay({ since: BEFORE_ALL, until: ahead })).status).toBe(400)
    const elsewhere = await replay({ since: BEFORE_ALL, until: other })
    expect(elsewhere.body.errors[0]).toMatchObject({
      field: 'until',
      message: expect.stringMatching(/epoch/),
    })
    const before = await replay({ after: reader.cursorAt(9), until: reader.cursorAt(8) })
    expect(before.body.errors[0]).toMatchObject({ field: 'until', message: expect.stringMatching(/before/) })
  })
})
