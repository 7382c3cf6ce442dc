import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { whyCommand } from '../../../../src/cli/commands/operations/why.ts'
import { testContext } from '../../command-context.ts'

const ANSWER = {
  id: 'guid#2',
  sequence: 934,
  foundBy: 'poll',
  verdict: {
    late: true,
    cause: 'planned',
    spanMs: 58_000,
    totalMs: 58_415,
    text: 'Late because of the plan.',
  },
  timeline: [
    { step: 'published', at: '2026-07-07T06:00:01.000Z', afterMs: null, text: 'Its time upstream\u001b.' },
    {
      step: 'requested',
      at: '2026-07-07T06:00:59.007Z',
      afterMs: 58_007,
      text: 'The poll that found it left.',
    },
    { step: 'received', at: '2026-07-07T06:05:59.007Z', afterMs: 300_000, text: 'The answer.' },
    { step: 'committed', at: null, afterMs: null, text: 'When is not kept.' },
    { step: 'visible', at: '2026-07-07T06:05:59.000Z', afterMs: -7, text: 'By another clock.' },
  ],
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  notes: ['Webhooks are shown to others.'],
}

/** Runs the command against a server that has one event. */
async function run(...args: string[]) {
  const server = createServer((request, response) => {
    const has = request.url === '/v1/disclosures/guid%232/journey'
    const detail = request.url?.includes('older')
      ? 'there is no such path'
      : 'no event has this id or sequence'
    response.writeHead(has ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(has ? ANSWER : { code: 'not_found', detail }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { context, stdout } = testContext()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const failure = await whyCommand([...args, '--url', url, '--token', 'a token'], context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string; hint: string },
  )
  return { stdout, failure }
}

test('bridge why prints each station with its London time and how long it took, then the verdict', async () => {
  const { stdout } = await run('guid#2')
  expect(stdout.map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
    'guid#2, sequence 934',
    '2026-07-07T07:00:01.000+01:00 | Its time upstream\ufffd.',
    '2026-07-07T07:00:59.007+01:00 | +58.007 s | The poll that found it left.',
    '2026-07-07T07:05:59.007+01:00 | +5 min | The answer.',
    '– | When is not kept.',
    '2026-07-07T07:05:59.000+01:00 | -0.007 s | By another clock.',
    'Trace: 4bf92f3577b34da6a3ce929d0e0e4736',
    'Note: Webhooks are shown to others.',
    'Late because of the plan.',
  ])
})

test('bridge why prints the answer with --json, and says what an unknown id means', async () => {
  expect(JSON.parse((await run('guid#2', '--json')).stdout.join())).toEqual(ANSWER)
  const { failure } = await run('0')
  expect(failure).toMatchObject({
    code: 'failed',
    message: expect.stringMatching(/ does not have this event: no event has this id or sequence$/),
    hint: 'ID is the id or the sequence of an event that is kept: bridge tail --json shows both.',
  })
  expect((await run('')).failure).toMatchObject({ code: 'usage', message: 'the argument ID is empty' })
})

test('bridge why says where the bridge knows no journeys', async () => {
  expect((await run('of-an-older-bridge')).failure).toMatchObject({
    message: expect.stringContaining('tells no journeys: there is no such path'),
    hint: expect.stringContaining('of this version'),
  })
})
