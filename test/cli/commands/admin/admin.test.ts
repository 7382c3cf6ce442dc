/** Tests `bridge admin` against a server that records what it is asked. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { adminCommand } from '../../../../src/cli/commands/admin/admin.ts'
import { type Clock, systemClock } from '../../../../src/lifecycle/clock.ts'
import { testContext } from '../../command-context.ts'

/** Runs the verb against a server that answers this. */
async function run(answer: [status: number, body: object], ...args: string[]) {
  return runAt(systemClock, answer, ...args)
}

/** The same at the time of that clock. */
async function runAt(clock: Clock, answer: [status: number, body: object], ...args: string[]) {
  const asked: unknown[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (part) => {
      text += part
    })
    request.on('end', () => {
      asked.push([request.method, request.url, text === '' ? null : JSON.parse(text)])
      const type = answer[0] < 400 ? 'application/json' : 'application/problem+json'
      response.writeHead(answer[0], { 'Content-Type': type }).end(JSON.stringify(answer[1]))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { context, stdout, stderr } = testContext()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const failure = await adminCommand([...args, '--url', url, '--token', 'any'], { ...context, clock }).then(
    () => null,
    (error: unknown) => error,
  )
  return { asked, stdout, stderr, failure }
}

const PAUSED = { paused: true, since: '2026-07-02T19:12:40.518Z', by: 'settings', reason: 'key changes' }
const RUNS = { paused: false, since: null, by: null, reason: null }

test('bridge admin pause sends the reason and says since when and why; --json prints the answer', async () => {
  const said = await run([200, PAUSED], 'pause', '--reason', 'key changes')
  expect(said.asked).toEqual([['POST', '/v1/admin/polling/pause', { reason: 'key changes' }]])
  expect([said.stdout, said.stderr]).toEqual([
    [],
    ['polling is paused since 2026-07-02T20:12:40+01:00: key changes'],
  ])
  const printed = await run([200, { ...PAUSED, reason: null }], 'pause', '--json')
  expect(printed.asked).toEqual([['POST', '/v1/admin/polling/pause', {}]])
  expect(printed.stdout.map((line) => JSON.parse(line))).toEqual([{ ...PAUSED, reason: null }])
})

test('bridge admin resume resumes', async () => {
  const said = await run([200, RUNS], 'resume')
  expect(said.asked.map((one) => (one as string[]).slice(0, 2))).toEqual([
    ['POST', '/v1/admin/polling/resume'],
  ])
  expect(said.stderr).toEqual(['polling goes on'])
  expect((await run([200, RUNS], 'resume', '--json')).stdout.map((line) => JSON.parse(line))).toEqual([RUNS])
})

test('a refusal is an error with the words of the bridge', async () => {
  const problem = { code: 'forbidden', title: 'Not allowed', status: 403, detail: 'only a token of default' }
  const { failure, stdout } = await run([403, problem], 'pause')
  expect(failure).toMatchObject({ message: expect.stringContaining('only a token of default') })
  expect(stdout).toEqual([])
})

test('bridge admin poll-now orders a poll', async () => {
  const answer = { nextPoll: '2026-07-02T19:12:40.518Z' }
  const said = await run([200, answer], 'poll-now', '--json')
  expect(said.asked.map((one) => (one as string[]).slice(0, 2))).toEqual([['POST', '/v1/admin/polling/now']])
  expect(said.stdout.map((line) => JSON.parse(line))).toEqual([answer])
})

test('the orders name what they are about in their path, and say what to look at next', async () => {
  const gap = await run([200, { id: 'mk1', due: '2026-07-02T19:12:40.518Z' }], 'retry-gap', 'mk1')
  expect(gap.asked.map((one) => (one as string[])[1])).toEqual(['/v1/admin/gaps/mk1/retry'])
  expect(gap.stderr.join()).toContain('the gap mk1 now; bridge status')
  const day = await run([200, { date: '2026-07-02' }], 'reconcile', '2026-07-02')
  expect(day.asked.map((one) => (one as string[])[1])).toEqual(['/v1/admin/days/2026-07-02/reconcile'])
  const down = await run([200, { node: 'host:7' }], 'step-down')
  expect(down.asked.map((one) => (one as string[])[1])).toEqual(['/v1/admin/leader/step-down'])
  expect(down.stderr.join()).toContain('host:7 has stepped down')
})

test('a day that is refused gets the last business day as an example; an older bridge takes no such order', async () => {
  const missing = { code: 'not_found', status: 404, detail: 'that day cannot be read again' }
  for (const [now, example] of [
    ['2026-07-07T09:00:00Z', '2026-07-06'],
    ['2026-07-05T23:30:00Z', '2026-07-03'],
    ['2026-12-29T09:00:00Z', '2026-12-24'],
    ['2026-03-30T12:00:00Z', '2026-03-27'],
  ] as const) {
    const clock = { ...systemClock, now: () => Date.parse(now) }
    const { failure } = await runAt(clock, [404, missing], 'reconcile', '2026-02-28')
    expect(failure).toMatchObject({ hint: expect.stringContaining(`such as ${example}.`) })
  }
  const { failure } = await run([404, { ...missing, detail: 'there is no such path' }], 'retry-gap', 'mk1')
  expect(failure).toMatchObject({ hint: expect.stringContaining('of this version') })
})

test('an order that is refused for now says why, and a missing argument is named', async () => {
  const problem = { code: 'not_now', title: 'Not possible now', status: 409, detail: 'polling is paused' }
  const { failure } = await run([409, problem], 'poll-now')
  expect(failure).toMatchObject({
    message: expect.stringContaining('refuses this for now: polling is paused'),
  })
  const missing = await run([200, {}], 'retry-gap')
  expect([missing.asked, missing.failure]).toMatchObject([[], { code: 'usage' }])
  for (const date of ['x', '2026-02-30', '']) {
    const wrong = await run([200, {}], 'reconcile', date)
    expect([wrong.asked, wrong.failure]).toMatchObject([[], { code: 'usage' }])
  }
})

test('bridge admin log-level names its argument and its flag where they are wrong', async () => {
  const errors = [{ field: 'level', message: 'must be one of error, warn, info, debug' }]
  const problem = { code: 'body_invalid', title: 'Wrong body', status: 400, detail: 'wrong', errors }
  expect((await run([400, problem], 'log-level', 'trace')).failure).toMatchObject({
    errors: [{ field: 'LEVEL', message: 'must be one of error, warn, info, debug' }],
  })
  for (const time of ['0s', '25h', '2d']) {
    const { asked, failure } = await run([200, {}], 'log-level', 'debug', '--for', time)
    expect([asked, failure]).toEqual([
      [],
      expect.objectContaining({ message: expect.stringContaining('--for must be a time') }),
    ])
  }
})
