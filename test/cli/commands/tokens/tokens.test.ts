import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { tokensCommand } from '../../../../src/cli/commands/tokens/tokens.ts'
import { startApi, TOKEN } from '../../../support/http/api-server.ts'
import { testContext } from '../../command-context.ts'

interface Failure {
  code: string
  message: string
  hint: string
  errors: { field: string; message: string }[]
}

/** Runs the command with that token against that address. */
async function run(url: string, args: string[], token = TOKEN) {
  const { context, stdout, stderr } = testContext()
  const flags = args.length === 0 ? [] : ['--url', url, '--token', token]
  const failure = await tokensCommand([...args, ...flags], context).then(
    () => null,
    (error: unknown) => error as Failure,
  )
  return { stdout, stderr, failure }
}

const CREATE = ['create', '--tenant', 'desk', '--scopes', 'events:read']

describe('bridge tokens create', () => {
  test('writes the text of the new token to stdout, and everything else to stderr', async () => {
    await using api = await startApi()
    const args = [
      ...CREATE,
      '--scopes',
      'admin,webhooks:read',
      '--name',
      'dashboards',
      '--expires-at',
      '2027',
    ]
    const { stdout, stderr, failure } = await run(api.url, args)
    expect(failure).toBeNull()
    expect(stdout).toEqual([expect.stringMatching(/^bridge_\S{43}$/)])
    expect(stderr.join('\n')).not.toContain(stdout[0])
    expect(stderr[0]).toMatch(
      /^created tok_\S+ of the tenant desk for events:read,webhooks:read,admin, until 2027-01-01T00:00:00.000Z$/,
    )
    const response = await fetch(`${api.url}/v1/disclosures`, {
      headers: { authorization: `Bearer ${stdout[0]}` },
    })
    expect(response.status).toBe(200)
  })

  test('with --json writes the response unchanged', async () => {
    await using api = await startApi()
    const { stdout } = await run(api.url, [...CREATE, '--json'])
    expect(JSON.parse(stdout.join())).toMatchObject({ tenant: 'desk', token: expect.any(String) })
  })

  test.each<[string[], string, RegExp]>([
    [['create'], 'usage', /^--tenant is missing.*--scopes is missing/],
    [['create', '--tenant', 'desk', '--scopes', 'event:read'], 'usage', /mean "events:read"/],
    [[...CREATE, '--expires-at', 'soon'], 'usage', /a time such as/],
    [[...CREATE, '--scope', 'admin'], 'usage', /mean "scopes"/],
    [[...CREATE, 'stray'], 'usage', /stray/],
    [['crate'], 'usage', /mean "create"/],
    [[], 'usage', /bridge tokens needs a verb: create, list, delete/],
  ])('refuses %j', async (args, code, message) => {
    await using api = await startApi()
    const { stdout, failure } = await run(api.url, args)
    const said = failure?.errors.map(({ field, message: text }) => `${field} ${text}`).join('; ')
    expect([stdout, failure?.code]).toEqual([[], code])
    expect(`${said}${failure?.message}`).toMatch(message)
    expect(failure?.hint).toMatch(/--help/)
  })
})

test('bridge tokens list shows every token, over all pages, one a line, and never its text', async () => {
  await using api = await startApi()
  const { stderr } = await run(api.url, ['list'])
  expect(stderr).toEqual(['no tokens yet besides BRIDGE_ADMIN_TOKEN'])
  const [text] = (await run(api.url, [...CREATE, '--name', 'first'])).stdout
  api.clock.advance(1)
  const wanted = { tenant: 'many', scopes: ['events:read'] as const, name: null, expiresAtMs: null }
  for (let count = 0; count < 1000; count += 1) await api.tokens.create(wanted)
  const [header, ...lines] = (await run(api.url, ['list'])).stdout
  expect(header?.split(/ {2,}/)).toEqual([
    'ID',
    'TENANT',
    'CREATED',
    'EXPIRES',
    'LAST USED',
    'NAME',
    'SCOPES',
  ])
  expect(lines).toHaveLength(1001)
  expect(lines[0]).toMatch(
    /^tok_\S{21} {2}desk {10}\d{4}-\d\d-\d\dT[\d:]+\+0[01]:00 {2}never {22}never {22}first {13}events:read$/,
  )
  expect(lines[0]?.indexOf('events:read')).toBe(header?.indexOf('SCOPES'))
  expect(lines.join('\n')).not.toContain(text)
  const json = (await run(api.url, ['list', '--json'])).stdout
  expect(JSON.parse(json.at(-1) ?? '')).toMatchObject({ tenant: 'many', name: null })
})

test('bridge tokens delete deletes the token; an unknown id is reported with the remedy', async () => {
  await using api = await startApi()
  const made = JSON.parse((await run(api.url, [...CREATE, '--json'])).stdout.join())
  const gone = await run(api.url, ['delete', made.id, '--json'])
  expect(gone.stderr.join()).toContain(`deleted ${made.id}`)
  expect(gone.stdout).toEqual([JSON.stringify({ id: made.id, deleted: true })])
  const again = await run(api.url, ['delete', made.id])
  expect(again.failure).toMatchObject({
    code: 'failed',
    message: expect.stringMatching(/no token of this id/),
  })
  expect(again.failure?.hint).toContain('bridge tokens list')
  expect((await run(api.url, ['delete', '../disclosures'])).failure?.message).toMatch(/no token of this id/)
  expect((await run(api.url, ['delete'])).failure?.message).toMatch(/missing argument: ID/)
})

describe('bridge tokens names the remedy', () => {
  test('when its token is wrong, lacks the scope, or may not grant the requested rights', async () => {
    await using api = await startApi()
    const wrong = await run(api.url, ['list'], 'wrong')
    expect(wrong.failure).toMatchObject({ code: 'usage', message: expect.stringMatching(/not valid/) })
    const [reader = ''] = (await run(api.url, CREATE)).stdout
    expect((await run(api.url, ['list'], reader)).failure?.message).toMatch(/scope admin/)
    const [lead = ''] = (await run(api.url, [...CREATE, '--scopes', 'admin'])).stdout
    const more = [...CREATE, '--scopes', 'webhooks:write']
    expect((await run(api.url, more, lead)).failure?.message).toMatch(/cannot grant .* webhooks:write/)
  })

  test('when nothing responds, or another server does', async () => {
    const server = createServer((_request, response) => response.end('<html>'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    expect((await run(`http://127.0.0.1:${port}`, ['list'])).failure?.message).toMatch(
      /is not a disclosure-bridge/,
    )
    server.close()
    server.closeAllConnections()
    const { failure } = await run(`http://127.0.0.1:${port}`, ['list'])
    expect(failure).toMatchObject({ code: 'failed', message: expect.stringMatching(/nothing listens there/) })
  })

  test('when it is called with --help', async () => {
    const { context, stdout } = testContext()
    await tokensCommand(['create', '--help'], context)
    expect(stdout.join()).toContain('--expires-at TIME')
  })
})
