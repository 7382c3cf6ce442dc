import { describe, expect, onTestFinished, test } from 'vitest'
import { listenCommand } from '../../../src/cli/commands/listen.ts'
import { webhookId } from '../../../src/core/signature.ts'
import { startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { startScriptedStream } from '../../support/streams/scripted-stream.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'
import { testContext } from '../command-context.ts'

/** Runs the command against that bridge; `ended` is what it rejected with, or null. */
function run(url: string, ...args: string[]) {
  const process = testContext()
  const ended = listenCommand(['--url', url, '--token', TOKEN, ...args], process.context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string; hint: string },
  )
  return {
    ...process,
    ended,
    told: (what: RegExp): string => what.exec(process.stderr.join('\n'))?.[1] ?? '',
    tries: () => process.stdout.map((line) => JSON.parse(line) as Record<string, unknown>),
  }
}

/** A stream with these messages that stays open, as a bridge would send it. */
async function streaming(...messages: [type: string, content: object][]): Promise<string> {
  const server = await startScriptedStream()
  let isOver = false
  onTestFinished(async () => {
    isOver = true
    await server[Symbol.asyncDispose]()
  })
  const serve = async (): Promise<void> => {
    for (let number = 1; ; number++) {
      await until(() => isOver || server.count() >= number)
      if (isOver) return
      const connection = await server.connection(number)
      await connection.welcome()
      connection.say(
        ...messages.map(([type, content]) =>
          type === 'live' ? { type, ...content } : { type, sent: '', event: content },
        ),
      )
    }
  }
  void serve()
  return server.url
}

const event = (n: number) => ({
  id: `e${n}`,
  cursor: `c${n}`,
  sequence: String(n),
  type: 'disclosure.published.v1',
  data: {},
})
const GAP = { id: 'gap:1:opened', cursor: 'c2', sequence: '2', type: 'bridge.gap.opened.v1', data: {} }

describe('a posted event', () => {
  test('has the body that the bridge wrote, and a signature that the official library accepts', async () => {
    await using api = await startApi({ count: 40 })
    await using receiver = await startReceiver()
    const listen = run(api.url, '--forward', receiver.url, '--tail', '3', '--fca-categories', 'FR')
    await until(() => listen.stdout.length === 3)
    api.store.grow(10)
    await until(() => listen.stdout.length === 4)
    listen.stop()
    expect(await listen.ended).toBeNull()
    const events = receiver.verify(listen.told(/^secret (whsec_\S+)$/m)) as {
      id: string
      sequence: string
      data: object
    }[]
    expect(events.map(({ sequence }) => Number(sequence)).sort()).toEqual([20, 30, 40, 50])
    const endpointId = listen.told(/as endpoint (ep_\w+)$/m)
    for (const [at, { headers, body }] of receiver.received.entries()) {
      const text = JSON.stringify(events[at])
      expect(body).toBe(text)
      const { id = '', data = {} } = events[at] ?? {}
      expect(headers['webhook-id']).toBe(webhookId(endpointId, id, Buffer.from(JSON.stringify(data))))
      expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8')
    }
    expect(listen.stdout[0]).toMatch(
      /^204 {2}\d+ ms {2}2026-01-06T07:00:\d\d\+00:00 {2}FR .+Item \d+ · Alpha$/,
    )
    expect(listen.stderr.at(-1)).toBe('stopped; 4 delivered, 0 given up')
  })

  test('is signed with the user’s secret; gaps are posted if the filter names them', async () => {
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
    const bridge = await streaming(
      ['disclosure', event(1)],
      ['gap', GAP],
      ['live', { cursor: 'c2' }],
      ['disclosure', event(3)],
    )
    for (const [types, ids] of [
      [[], ['e1', 'e3']],
      [
        ['--types', 'published,gap'],
        ['e1', 'e3', 'gap:1:opened'],
      ],
    ]) {
      await using receiver = await startReceiver()
      const listen = run(bridge, '--forward', receiver.url, '--secret', secret, '--json', ...(types ?? []))
      await until(() => listen.stdout.length === ids?.length)
      listen.stop()
      await listen.ended
      expect((receiver.verify(secret) as { id: string }[]).map(({ id }) => id).sort()).toEqual(ids)
    }
  })
})

describe('a receiver that fails', () => {
  test('gets an event four times with the same id, and other events continue', async () => {
    const bridge = await streaming(
      ['disclosure', event(1)],
      ['disclosure', event(2)],
      ['disclosure', event(3)],
    )
    const statuses: Record<string, number[]> = { e1: [500, 302, 401, 503], e2: [429, 200], e3: [410] }
    await using receiver = await startReceiver((response, { body }) => {
      const { id } = JSON.parse(body) as { id: string }
      response
        .writeHead(statuses[id]?.shift() ?? 200, { location: 'http://127.0.0.1:1/', 'retry-after': '0' })
        .end()
    })
    const listen = run(bridge, '--forward', receiver.url, '--json')
    await until(() => listen.stdout.length === 7)
    listen.stop()
    await listen.ended
    const seen = (id: string) =>
      listen
        .tries()
        .filter(({ eventId }) => eventId === id)
        .map(({ attempt, status, outcome, nextInMs }) => [attempt, status, outcome, nextInMs])
    expect(seen('e1')).toEqual([
      [1, 500, 'server_error', 0],
      [2, 302, 'client_error', 0],
      [3, 401, 'client_error', 0],
      [4, 503, 'server_error', null],
    ])
    expect(seen('e2')).toEqual([
      [1, 429, 'throttled', 0],
      [2, 200, 'ok', null],
    ])
    expect(seen('e3')).toEqual([[1, 410, 'gone', null]])
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3)
    expect(listen.stderr.at(-1)).toBe('stopped; 1 delivered, 2 given up')
    expect(Object.keys(listen.tries()[0] ?? {})).toEqual([
      'eventId',
      'sequence',
      'webhookId',
      'attempt',
      'at',
      'status',
      'outcome',
      'durationMs',
      'nextInMs',
    ])
  })

  test('or is unreachable, is reported in words, and later events are tried all the same', async () => {
    const bridge = await streaming(
      ['disclosure', event(1)],
      ['disclosure', { id: 'odd', cursor: 'c1' }],
      ['disclosure', event(2)],
    )
    const gone = await startReceiver()
    await gone[Symbol.asyncDispose]()
    const listen = run(bridge, '--forward', gone.url)
    await until(() => listen.stdout.length === 8)
    listen.stop()
    await listen.ended
    expect(listen.stdout[0]).toMatch(/^nothing listens there {2}\d+ ms {2}again in 0\.0 s {2}/)
    expect(listen.stdout.filter((line) => / {2}given up {2}/.test(line))).toHaveLength(2)
    expect(listen.stderr).toContain('skipped an event without sequence')
    expect(listen.stderr.at(-1)).toBe('stopped; 0 delivered, 2 given up')
  })

  test('and never responds, holds at most eight requests, and does not delay a stop', async () => {
    const bridge = await streaming(
      ...Array.from({ length: 20 }, (_, at): [string, object] => ['disclosure', event(at)]),
    )
    await using receiver = await startReceiver(() => {})
    const listen = run(bridge, '--forward', receiver.url)
    await until(() => receiver.received.length === 8)
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(receiver.received.length).toBe(8)
    listen.stop()
    expect(await listen.ended).toBeNull()
    expect(listen.stdout).toEqual([])
  })
})

test.each([
  [[], '--forward is missing'],
  [['--forward', 'localhost:9000'], 'http or https'],
  [['--forward', 'http://user:word@127.0.0.1/'], 'without credentials'],
  [['--forward', 'http://127.0.0.1/', '--secret', 'short'], '--secret is not a secret'],
  [['--foward', 'http://127.0.0.1/'], 'did you mean "forward"'],
])('%j is refused with the remedy', async (args, message) => {
  const error = await run('http://127.0.0.1:1', ...args).ended
  expect(error).toMatchObject({ code: 'usage', message: expect.stringContaining(message) })
  expect(error?.hint).toBeTruthy()
})
