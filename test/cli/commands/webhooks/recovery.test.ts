import { describe, expect, test } from 'vitest'
import { webhooksCommand } from '../../../../src/cli/commands/webhooks/webhooks.ts'
import type { BridgeError } from '../../../../src/errors.ts'
import type { AttemptReport } from '../../../../src/webhooks/send/attempt.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../../support/http/api-server.ts'
import { ask } from '../../../support/http/ask.ts'
import { eventAt } from '../../../support/store.ts'
import { testContext } from '../../command-context.ts'

const REPORT: AttemptReport = {
  end: { kind: 'answered', status: 503, retryAfter: null },
  phase: 'body',
  startedMs: 0,
  durationMs: 41,
  response: 'down\u001b[2J',
  detail: null,
}

/** Runs the command against that server. */
async function run(api: ApiServer, args: string[]) {
  const { context, stdout, stderr } = testContext()
  const failure = await webhooksCommand([...args, '--url', api.url, '--token', TOKEN], context).then(
    () => null,
    (error: unknown) => error as BridgeError,
  )
  return { stdout, stderr, failure }
}

async function endpointId(api: ApiServer): Promise<string> {
  const { body } = await ask(api, TOKEN, '/v1/webhooks', 'POST', { url: 'https://hooks.example/in' })
  return body.id
}

describe('bridge webhooks replays and cancel', () => {
  test('show what waits and ends it; one that is over is missing', async () => {
    await using api = await startApi({ count: 9 })
    const id = await endpointId(api)
    expect((await run(api, ['replays', id])).stderr).toEqual(['no replay is under way'])
    const [replay = ''] = (await run(api, ['replay', id, '--since', '2000-01-01'])).stdout
    const { stdout } = await run(api, ['replays', id])
    expect(stdout.map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['REPLAY', 'STATE', 'REQUESTED', 'OF', 'EVENTS', 'DONE'],
      [replay, 'waiting', '2026-06-01T07:00:00+01:00', 'all', '9', '–'],
    ])
    const ending = run(api, ['cancel', id, replay, '--json'])
    const { commands } = api.recovery
    await until(() => commands.of(id).some(({ command }) => command.kind === 'cancel'))
    for (const { key } of commands.of(id)) await commands.remove(key)
    expect((await ending).stdout).toEqual([JSON.stringify({ id: replay, cancelled: true })])
    const over = await run(api, ['cancel', id, replay])
    expect(over.failure?.message).toMatch(/does not have this endpoint, or the replay is over/)
  })
})

describe('bridge webhooks test', () => {
  test('reports that the receiver accepted it, with --json the response of the bridge', async () => {
    await using api = await startApi()
    const id = await endpointId(api)
    const { stdout, failure } = await run(api, ['test', id])
    expect(failure).toBeNull()
    expect(stdout).toEqual([
      expect.stringMatching(/^accepted: status 204 after 1 ms, webhook-id msg_\w{32}$/),
    ])
    const told = await run(api, ['test', id, '--json'])
    expect(JSON.parse(told.stdout.join())).toMatchObject({ status: 204, outcome: 'ok' })
  })

  test('fails if the receiver did not accept it, with cause and remedy, whatever the receiver wrote', async () => {
    await using api = await startApi({ attempt: async () => REPORT })
    const { stdout, stderr, failure } = await run(api, ['test', await endpointId(api)])
    expect(stdout).toEqual([])
    expect(stderr).toEqual(['response: down\ufffd[2J'])
    expect(failure?.message).toMatch(
      /did not accept the test: server_error, status 503 after 41 ms in the phase body$/,
    )
    expect(failure?.hint).toMatch(/2xx/)
    await using blocked = await startApi({
      attempt: async () => ({ ...REPORT, end: { kind: 'failed', fault: 'blocked' }, response: null }),
    })
    const refused = await run(blocked, ['test', await endpointId(blocked)])
    expect([refused.failure?.message, refused.failure?.hint]).toEqual([
      expect.stringMatching(/blocked, no response/),
      expect.stringMatching(/webhooks-addresses/),
    ])
  })
})

describe('bridge webhooks replay', () => {
  test('starts a replay by window, ids or dead deliveries, and counts with --dry-run', async () => {
    await using api = await startApi({ count: 30 })
    const id = await endpointId(api)
    const window = ['--since', eventAt(11).time, '--until', eventAt(20).time]
    const counted = await run(api, ['replay', id, ...window, '--dry-run'])
    expect([counted.stdout, counted.stderr]).toEqual([['10'], [`${id}: a replay would send 10 deliveries`]])
    const begun = await run(api, ['replay', id, ...window])
    expect([begun.stdout, begun.stderr]).toEqual([
      [expect.stringMatching(/^rp_/)],
      [`${id}: replay of 10 deliveries, after new events`],
    ])
    const ids = ['--ids', `${eventAt(3).id},${eventAt(4).id}`, '--ids', eventAt(9).id]
    expect(JSON.parse((await run(api, ['replay', id, ...ids, '--json'])).stdout.join())).toMatchObject({
      count: 3,
    })
    const after = ['--after', api.store.reader.cursorAt(30)]
    expect((await run(api, ['replay', id, ...after])).stderr).toEqual([`${id}: nothing to replay`])
    expect(api.recovery.commands.of(id).map(({ command }) => command.kind)).toEqual(['replay', 'replay'])
  })

  test('passes on an error of the bridge, with the remedy', async () => {
    await using api = await startApi({ count: 3, first: 50 })
    const id = await endpointId(api)
    const none = (await run(api, ['replay', id])).failure
    expect([none?.code, none?.message]).toMatchObject([
      'usage',
      expect.stringContaining('needs one of --after, --since, --ids'),
    ])
    const wrong = (await run(api, ['replay', id, '--sinse', 'x'])).failure
    expect(wrong?.message).toMatch(/--sinse.*"since"|--since/)
    const old = (await run(api, ['replay', id, '--after', await cursorBefore()])).failure
    expect(old?.hint).toContain('--after')
    for (let count = 0; count < 10; count++) await run(api, ['replay', id, '--since', '2016'])
    const many = (await run(api, ['replay', id, '--since', '2016'])).failure
    expect([many?.message, many?.hint]).toEqual([
      expect.stringMatching(/10 replays of this endpoint wait/),
      'Try again in a few seconds.',
    ])
  })
})

/** A cursor of the same log that is beyond the retention of a store that begins at 50. */
async function cursorBefore(): Promise<string> {
  await using before = await startApi({ count: 3 })
  return before.store.reader.cursorAt(2)
}
