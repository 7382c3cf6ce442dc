import { describe, expect, test } from 'vitest'
import { webhooksCommand } from '../../../../src/cli/commands/webhooks/webhooks.ts'
import { attemptPage } from '../../../../src/webhooks/attempts/attempt-record.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../../support/http/api-server.ts'
import { ask } from '../../../support/http/ask.ts'
import { EPOCH } from '../../../support/store.ts'
import { recordOf } from '../../../support/webhooks/attempted.ts'
import { testContext } from '../../command-context.ts'

async function run(api: ApiServer, args: string[]) {
  const { context, stdout, stderr } = testContext()
  const failure = await webhooksCommand([...args, '--url', api.url, '--token', TOKEN], context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string; errors: { message: string }[] },
  )
  return { stdout, stderr, failure }
}

/** An endpoint with five attempts, the fourth of which failed. */
async function endpointOf(api: ApiServer): Promise<string> {
  const { body } = await ask(api, TOKEN, '/v1/webhooks', 'POST', { url: 'https://hooks.example/in' })
  const startMs = api.clock.now() - 9000
  const attempts = [1, 2, 3, 4, 5].map((sequence) =>
    recordOf({ endpointId: body.id, sequence, atMs: startMs + sequence, ...(sequence === 4 && FAILED) }),
  )
  await api.attempts.append([attemptPage(EPOCH, attempts)])
  await until(async () => (await ask(api, TOKEN, `/v1/webhooks/${body.id}/attempts`)).body.data.length === 5)
  return body.id
}

const FAILED = {
  status: 503,
  outcome: 'server_error',
  result: 'retry',
  dueMs: Date.UTC(2026, 5, 1, 7),
  response: 'busy\u001b[2J\n',
} as const

describe('bridge webhooks attempts', () => {
  test('writes one line per attempt, newest first, with nothing that controls the terminal', async () => {
    await using api = await startApi({ count: 5 })
    const id = await endpointOf(api)
    const { stdout, failure } = await run(api, ['attempts', id, '--limit', '2'])
    expect(failure).toBeNull()
    expect(stdout.map((line) => line.split(/ {2,}/))).toEqual([
      ['AT', 'OUTCOME', 'STATUS', 'TOOK', 'PHASE', 'TRY', 'EVENT', 'RESPONSE'],
      ['2026-06-01T06:59:51+01:00', 'ok', '204', '12 ms', 'body', '1', 'e5', '–'],
      ['2026-06-01T06:59:51+01:00', 'server_error', '503', '12 ms', 'body', '1', 'e4', 'busy\ufffd[2J\ufffd'],
    ])
  })

  test('shows only failed attempts, or those of an outcome, and as JSON the API response', async () => {
    await using api = await startApi({ count: 5 })
    const id = await endpointOf(api)
    const all = (await ask(api, TOKEN, `/v1/webhooks/${id}/attempts`)).body.data
    for (const flags of [['--failed'], ['--outcome', 'dns,server_error'], ['--event', 'e4']]) {
      const { stdout } = await run(api, ['attempts', id, '--json', ...flags])
      expect(stdout.map((line) => JSON.parse(line))).toEqual([all[1]])
    }
    const none = await run(api, ['attempts', id, '--outcome', 'tls'])
    expect([none.stdout, none.stderr]).toEqual([[], ['no such attempts in the last week']])
  })
})

test('bridge webhooks deliveries shows the state of each delivery, page by page', async () => {
  await using api = await startApi({ count: 5 })
  const id = await endpointOf(api)
  const { stdout } = await run(api, ['deliveries', id])
  expect(stdout).toHaveLength(6)
  const [header = '', , pending = ''] = stdout
  expect(header.trim().split(/ {2,}/)).toEqual(['SEQUENCE', 'STATE', 'TRIES', 'STATUS', 'NEXT TRY', 'EVENT'])
  expect(pending).toBe('         4  pending        1  503     2026-06-01T08:00:00+01:00  e4')
  expect((await run(api, ['deliveries', id, '--state', 'pending,dead'])).stdout).toEqual([header, pending])
})

test('bridge webhooks why says of an event what became of it at each endpoint', async () => {
  await using api = await startApi({ count: 5 })
  const filter = { symbols: ['VOD'], importance: ['ultra'] }
  const { body } = await ask(api, TOKEN, '/v1/webhooks', 'POST', { url: 'https://hooks.example/in', filter })
  const { stdout } = await run(api, ['why', '4'])
  expect(stdout.map((line) => line.split(/ {2,}/))).toEqual([
    ['ENDPOINT', 'STATE', 'TRIES', 'STATUS', 'REASON', 'WHY'],
    [body.id, '–', '0', '–', 'filter', 'symbols, importance'],
  ])
  const { failure } = await run(api, ['why', 'nothing'])
  expect(failure?.message).toMatch(/does not have this event/)
})

test.each<[string[], RegExp]>([
  [['attempts'], /missing argument: ID/],
  [['attempts', 'ep_x', '--limit', '0'], /--limit must be/],
  [['attempts', 'ep_x', '--failed', '--outcome', 'ok'], /do not go together/],
  [['attempts', 'ep_x', '--fail'], /mean "failed"/],
  [['deliveries', 'ID', '--state', 'deaf'], /mean "dead"/],
])('refuses %j', async (args, message) => {
  await using api = await startApi()
  const id = await endpointOf(api)
  const { stdout, failure } = await run(
    api,
    args.map((arg) => (arg === 'ID' ? id : arg)),
  )
  expect([stdout, failure?.code]).toEqual([[], 'usage'])
  expect(`${failure?.message} ${failure?.errors.map((one) => one.message)}`).toMatch(message)
})
