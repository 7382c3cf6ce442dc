import { expect, test } from 'vitest'
import { rejectedCommand } from '../../../src/cli/commands/rejected.ts'
import { startApi, TOKEN } from '../../support/http/api-server.ts'
import { tokenOf } from '../../support/http/ask.ts'
import { reject } from '../../support/http/rejected-items.ts'
import { testContext } from '../command-context.ts'

const item = (second: number, raw: string, guid: string | null) => ({
  raw,
  reason: 'no readable headline',
  guid,
  recordedtime: `2026-06-01T06:00:0${second}.000Z`,
})

/** Runs the command with that token against that address. */
async function run(url: string, args: string[], token = TOKEN) {
  const { context, stdout, stderr } = testContext()
  const failure = await rejectedCommand([...args, '--url', url, '--token', token], context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string; hint: string },
  )
  return { stdout, stderr, failure }
}

test('bridge rejected lists the items, newest first, and prints them as they came with --raw', async () => {
  await using api = await startApi()
  expect((await run(api.url, [])).stderr).toEqual(['no rejected items: every item could be read'])
  await reject(api, item(1, '{"headline":1}', null), item(2, '{"x":"\u001b£"}', 'guid-2'))
  expect((await run(api.url, [])).stdout).toEqual([
    'SET ASIDE                    BYTES  GUID                                  REASON',
    '2026-06-01T07:00:02+01:00       11  guid-2                                no readable headline',
    '2026-06-01T07:00:01+01:00       14  –                                     no readable headline',
  ])
  expect((await run(api.url, ['--raw'])).stdout).toEqual(['{"x":"\ufffd£"}', '{"headline":1}'])
  const json = (await run(api.url, ['--json'])).stdout.map((line) => JSON.parse(line))
  expect(json).toEqual([item(2, '{"x":"\u001b£"}', 'guid-2'), item(1, '{"headline":1}', null)])
})

test('bridge rejected reads all pages of large items, up to --limit', async () => {
  await using api = await startApi()
  await reject(api, ...[1, 2, 3].map((second) => item(second, `${second}`.repeat(3_000_000), null)))
  expect((await run(api.url, ['--raw'])).stdout.map((line) => line[0])).toEqual(['3', '2', '1'])
  expect((await run(api.url, ['--raw', '--limit', '1'])).stdout.map((line) => line[0])).toEqual(['3'])
})

test('bridge rejected names what is wrong: a limit, a missing scope', async () => {
  await using api = await startApi()
  const wrong = await run(api.url, ['--limit', '0'])
  expect(wrong.failure).toMatchObject({
    code: 'usage',
    hint: expect.stringContaining('bridge rejected --help'),
  })
  const token = await tokenOf(api, 'desk', ['webhooks:read'])
  const { failure } = await run(api.url, [], token)
  expect(failure).toMatchObject({ code: 'usage', message: expect.stringMatching(/scope events:read/) })
})
