import { expect, onTestFinished, test } from 'vitest'
import { streamsCommand } from '../../../../src/cli/commands/operations/streams.ts'
import { type ApiServer, startApi, TOKEN } from '../../../support/http/api-server.ts'
import { subscribed } from '../../../support/streams/ws-client.ts'
import { testContext } from '../../command-context.ts'

async function run({ url }: ApiServer, ...args: string[]) {
  const { context, stdout, stderr } = testContext()
  const failure = await streamsCommand([...args, '--url', url, '--token', TOKEN], context).then(
    () => null,
    (error: unknown) => error as { message: string; hint: string },
  )
  return { stdout, stderr, failure }
}

test('bridge streams list shows each open stream with its filters, cut, and --json all of it', async () => {
  await using api = await startApi({ count: 5 })
  expect((await run(api, 'list')).stderr).toEqual(['no stream is open on this node'])
  const symbols = Array.from({ length: 100 }, (_, at) => `S${at}`)
  const client = await subscribed(api, { filter: { symbols }, from: 'earliest' })
  onTestFinished(() => client.webSocket.terminate())
  const { stdout } = await run(api, 'list')
  expect(stdout[0]?.split(/ {2,}/)).toEqual([
    'ID',
    'WAY',
    'TENANT',
    'TOKEN',
    'OPENED',
    'BEHIND',
    'SLOW SINCE',
    'FILTERS',
  ])
  expect(stdout[1]).toMatch(
    /^str_\S{32} {2}ws {3}default {7}settings {19}2026-06-01T07:00:00\+01:00 {2}0 events, 0 s {5}– {26}\{"symbols":\["S0",.{63}…$/,
  )
  const [line = ''] = (await run(api, 'list', '--json')).stdout
  expect(JSON.parse(line).subscriptions[0].filter.symbols).toHaveLength(100)
})

test('bridge streams end ends it; an unknown id is reported with the remedy', async () => {
  await using api = await startApi({ count: 5 })
  const client = await subscribed(api)
  const { id } = JSON.parse((await run(api, 'list', '--json')).stdout.join())
  const ended = await run(api, 'end', id, '--json')
  expect(ended.stdout).toEqual([JSON.stringify({ id, ended: true })])
  expect(ended.stderr.join()).toContain('delete its token')
  expect((await client.closed).code).toBe(4007)
  const { failure } = await run(api, 'end', id)
  expect(failure?.message).toContain('no open stream of this id')
  expect(failure?.hint).toContain('bridge streams list')
})
