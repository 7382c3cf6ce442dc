import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { tailCommand } from '../../../src/cli/commands/tail.ts'
import { startApi, until } from '../../support/http/api-server.ts'
import { startScriptedStream } from '../../support/streams/scripted-stream.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { testContext } from '../command-context.ts'

const TOKEN = 'token of this test'

/** Runs the command against that address; `ended` is what it rejected with, or null. */
function run(url: string, ...args: string[]) {
  const process = testContext()
  const ended = tailCommand(['--url', url, '--token', TOKEN, ...args], process.context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string; hint: string; errors: unknown[] },
  )
  return { ...process, ended }
}

/** A server without WebSocket, with one scripted handler per request. */
async function scripted(...answers: ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answers[Math.min(requests.length, answers.length) - 1]?.(request, response)
  })
  server.on('upgrade', (_request, socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A frame as the bridge writes it, around an event that JSON.parse and JSON.stringify would alter. */
const json = (id: number): string => `{"id":"e${id}","cursor":"c${id}","n":${id}.0}`
const frame = (id: number): string =>
  `{"type":"disclosure","sent":"2026-01-06T07:00:00.000Z","event":${json(id)}}`

describe('the output of tail', () => {
  test('has the last matching events as lines, then new ones; the rest goes to stderr', async () => {
    await using api = await startApi({ count: 40 })
    const tail = run(api.url, '--tail', '3', '--fca-categories', 'FR')
    await until(() => tail.stderr.includes('caught up; what follows is new'))
    api.store.grow(10)
    await until(() => tail.stdout.length === 4)
    tail.stop()
    expect(await tail.ended).toBeNull()
    expect(tail.stdout[0]).toBe('2026-01-06T07:00:20+00:00  FR       high    –       Item 20 · Alpha')
    expect(tail.stdout.map((line) => line.match(/Item \d+/)?.[0])).toEqual([
      'Item 20',
      'Item 30',
      'Item 40',
      'Item 50',
    ])
    expect(tail.stderr[0]).toContain('Ctrl-C ends it')
    expect(tail.stderr.at(-1)).toMatch(/^stopped; --after \S{39} goes on from here$/)
  })

  test('with --no-follow ends with the newest event; without a start it prints the last 10', async () => {
    await using api = await startApi({ count: 40 })
    const last = run(api.url, '--no-follow')
    expect(await last.ended).toBeNull()
    expect(last.stdout.map((line) => line.match(/Item \d+/)?.[0])).toEqual(
      Array.from({ length: 10 }, (_, at) => `Item ${31 + at}`),
    )
    const [time = ''] = last.stdout[4]?.split('  ') ?? []
    const since = run(api.url, '--no-follow', '--since', time)
    expect(await since.ended).toBeNull()
    expect(since.stdout).toEqual(last.stdout.slice(4))
    expect(since.stderr[0]).toBe('from 2026-01-06T07:00:35Z, in London 2026-01-06T07:00:35+00:00')
    expect(last.stderr[0]).toBe(`reading what ${api.url} has`)
    expect(last.stderr.at(-1)).toMatch(/^stopped; --after \S+ goes on from here$/)
  })

  test('with --json has each event byte for byte on a line of its own, and nothing else', async () => {
    await using api = await startApi({ count: 5 })
    const tail = run(api.url, '--since', '2026-01-06T07:00:04Z', '--json')
    await until(() => tail.stdout.length === 2)
    tail.stop()
    await tail.ended
    const pulled = await fetch(`${api.url}/v1/disclosures`, { headers: api.auth })
    expect(await pulled.text()).toContain(tail.stdout.join(','))
  })

  test('obeys both forms of a filter field, lists by comma or repeated, and a whole filter as JSON', async () => {
    await using server = await startScriptedStream()
    const asked: unknown[] = []
    const queries = [
      ['--fcaCategories', 'FR,IR', '--fca-categories', 'ACS', '--has-symbol', 'true'],
      ['--filter', '{"exclude":{"preset":"results"}}'],
      ['--importance', 'high+', '--tail', '5'],
    ]
    for (const [at, args] of queries.entries()) {
      const tail = run(server.url, ...args)
      const connection = await server.connection(at + 1)
      const { filter, from } = await connection.welcome()
      asked.push([filter, from])
      connection.webSocket.send(frame(1))
      await until(() => tail.stdout.length === 1)
      tail.stop()
      await tail.ended
    }
    expect(asked).toEqual([
      [{ fcaCategories: ['FR', 'IR', 'ACS'], hasSymbol: true }, undefined],
      [{ exclude: { preset: 'results' } }, undefined],
      [{ importance: 'high+' }, { tail: 5 }],
    ])
  })
})

describe('a broken connection', () => {
  test('is reopened with the last cursor and the filter, without a second start option', async () => {
    await using server = await startScriptedStream()
    const tail = run(server.url, '--tail', '2', '--q', 'offer', '--json')
    const asked: unknown[] = []
    const welcome = async (number: number) => {
      const connection = await server.connection(number)
      const { filter, from } = await connection.welcome()
      asked.push([filter, from])
      return connection
    }
    const first = await welcome(1)
    first.webSocket.send(frame(1))
    first.webSocket.send(frame(2))
    await until(() => tail.stdout.length === 2)
    first.webSocket.terminate()
    const second = await welcome(2)
    second.say({ type: 'heartbeat', cursor: 'c9' }, { type: 'going_away', reconnectInMs: 0 })
    second.close(4200)
    ;(await welcome(3)).webSocket.send(frame(10))
    await until(() => tail.stdout.length === 3)
    tail.stop()
    expect(await tail.ended).toBeNull()
    expect(tail.stdout).toEqual([json(1), json(2), json(10)])
    expect(asked).toEqual([
      [{ q: 'offer' }, { tail: 2 }],
      [{ q: 'offer' }, { after: 'c2' }],
      [{ q: 'offer' }, { after: 'c9' }],
    ])
    const said = tail.stderr.join('\n')
    for (const words of ['again in 0.0 s from the last cursor', 'connected again', 'is stopping'])
      expect(said).toContain(words)
    expect(tail.stderr.at(-1)).toBe('stopped; --after c10 goes on from here')
  })

  test('without a WebSocket reports why, and retries', async () => {
    await using server = await scripted(
      (_request, response) => response.writeHead(503).end(),
      (_request, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write('\n'),
    )
    const tail = run(server.url, '--tail', '3')
    await until(() => tail.stderr.length >= 2)
    tail.stop()
    expect(await tail.ended).toBeNull()
    expect(tail.stderr[0]).toBe(`${server.url} answers with status 503; again in 0.0 s`)
    expect(tail.stderr[1]).toContain('serves no WebSocket')
    expect(server.requests[0]?.url).toBe('/v1/events?tail=3')
  })

  test('ends with the remedy if the bridge no longer serves the stream', async () => {
    await using server = await startScriptedStream()
    const tail = run(server.url)
    const first = await server.connection(1)
    await first.welcome()
    first.close(4001, 'this token was deleted or has expired')
    expect(await tail.ended).toMatchObject({ code: 'failed', message: expect.stringContaining('status 426') })
  })

  test('that is silent for two and a half heartbeats is replaced', async () => {
    await using server = await startScriptedStream()
    const process = testContext()
    const clock = createManualClock()
    const args = ['--url', server.url, '--token', TOKEN, '--json']
    const ended = tailCommand(args, { ...process.context, clock })
    const first = await server.connection(1)
    await first.welcome()
    first.webSocket.send(frame(1))
    await until(() => process.stdout.length === 1)
    clock.advance(37_499)
    expect(server.count()).toBe(1)
    clock.advance(1)
    await until(() => {
      clock.advance(0)
      return server.count() === 2
    })
    process.stop()
    await ended
    expect(process.stderr.join()).toContain('is silent; again in 0.0 s')
  })

  test('exits quietly when the output is closed', async () => {
    await using api = await startApi({ count: 1 })
    const tail = run(api.url)
    await until(() => tail.stderr.length === 2)
    tail.closeOutput()
    expect(await tail.ended).toBeNull()
    expect(tail.stderr).toHaveLength(2)
  })
})

describe('an error that retrying cannot fix ends tail with the remedy', () => {
  test.each([
    [['--preset', 'no-rutine'], 'usage', '--preset', 'did you mean "no-routine"?'],
    [['--tail', '0'], 'usage', '--tail', 'from 1 to 1000'],
    [['--tail', '5', '--since', '2026'], 'usage', '--tail', 'cannot be combined with since'],
    [['--after', 'rubbish'], 'usage', 'after', 'not a cursor'],
    [['--filter', '{'], 'usage', 'filter', 'is not JSON'],
  ])('a wrong flag: %j', async (args, code, field, words) => {
    await using api = await startApi({ count: 1 })
    const error = await run(api.url, ...args).ended
    expect(error).toMatchObject({ code, hint: expect.stringContaining('--help') })
    expect(`${error?.message} ${JSON.stringify(error?.errors)}`.replaceAll('\\', '')).toContain(words)
    if (field !== 'after') expect(error?.errors).toMatchObject([{ field }])
  })

  test.each([
    [['--fca-category', 'FR'], 'did you mean "fca-categories"?'],
    [['--exclude', 'x'], 'bridge tail has no flag --exclude'],
    [['extra'], 'extra'],
    [['--url'], 'url'],
  ])('an unknown flag: %j', async (args, words) => {
    const error = await run('http://127.0.0.1:1', ...args).ended
    expect(error).toMatchObject({ code: 'usage', message: expect.stringContaining(words) })
  })

  test('a wrong token, from any source', async () => {
    await using api = await startApi({ count: 1 })
    const byFlag = await run(api.url, '--token', 'wrong').ended
    expect(byFlag).toMatchObject({ code: 'usage', hint: expect.stringContaining('--token') })
    const { context } = testContext({ BRIDGE_ADMIN_TOKEN: 'a-wrong-token-of-a-test' })
    const bySetting = tailCommand(['--url', api.url], context)
    await expect(bySetting).rejects.toMatchObject({
      code: 'settings',
      hint: expect.stringContaining('BRIDGE_ADMIN_TOKEN'),
    })
  })

  test('a token without the scope, a path without a stream, another server, an error without a problem body', async () => {
    await using server = await scripted(
      (_request, response) =>
        response.writeHead(403).end('{"detail":"this token does not have the scope x"}'),
      (_request, response) => response.writeHead(404).end('\u001b[31mnothing'),
      (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      (_request, response) => response.writeHead(302, { location: 'http://x.example/' }).end(),
    )
    expect(await run(server.url).ended).toMatchObject({
      code: 'usage',
      message: expect.stringContaining('the scope x'),
    })
    expect(await run(server.url).ended).toMatchObject({
      code: 'failed',
      hint: expect.stringContaining('role feed'),
    })
    expect(await run(server.url).ended).toMatchObject({
      code: 'failed',
      message: expect.stringContaining('is not a disclosure-bridge'),
    })
    expect(await run(server.url).ended).toMatchObject({
      code: 'failed',
      message: expect.stringContaining('302'),
    })
  })

  test('a cursor beyond retention, naming the oldest', async () => {
    await using api = await startApi({ count: 10, first: 100 })
    const old = api.store.reader.cursorAt(5)
    const error = await run(api.url, '--after', old).ended
    expect(error).toMatchObject({
      code: 'failed',
      hint: expect.stringMatching(/^--after \S{39} begins with the oldest/),
    })
  })

  test('a bridge that is not running', async () => {
    const server = await scripted()
    await server[Symbol.asyncDispose]()
    expect(await run(server.url).ended).toMatchObject({
      code: 'failed',
      message: `no bridge answers at ${server.url}: nothing listens there`,
      hint: expect.stringContaining('npm start'),
    })
  })
})
