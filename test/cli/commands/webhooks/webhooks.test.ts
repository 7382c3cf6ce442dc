import { describe, expect, test } from 'vitest'
import { webhooksCommand } from '../../../../src/cli/commands/webhooks/webhooks.ts'
import { encodeCursor } from '../../../../src/core/cursor.ts'
import { newId } from '../../../../src/registry/ids.ts'
import { createSecretBox } from '../../../../src/webhooks/endpoints/secrets.ts'
import { type ApiServer, OLD_SECRET_KEY, startApi, TOKEN } from '../../../support/http/api-server.ts'
import { ask, tokenOf } from '../../../support/http/ask.ts'
import { EPOCH } from '../../../support/store.ts'
import { wantedEndpoint } from '../../../support/webhooks/endpoints.ts'
import { testContext } from '../../command-context.ts'

interface Failure {
  code: string
  message: string
  hint: string
  errors: { field: string; message: string }[]
}

const URL = 'https://hooks.example/in'
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/

/** Runs the command with that token against that server. */
async function run(api: ApiServer, args: string[], token = TOKEN) {
  const { context, stdout, stderr } = testContext()
  const flags = args.length === 0 ? [] : ['--url', api.url, '--token', token]
  const failure = await webhooksCommand([...args, ...flags], context).then(
    () => null,
    (error: unknown) => error as Failure,
  )
  return { stdout, stderr, failure }
}

/** An endpoint as `add --json` prints it. */
async function added(api: ApiServer, args: string[] = [], token = TOKEN) {
  const { stdout, failure } = await run(api, ['add', URL, '--json', ...args], token)
  expect(failure).toBeNull()
  return JSON.parse(stdout.join())
}

describe('bridge webhooks add', () => {
  test('writes the secret to stdout, and everything else to stderr', async () => {
    await using api = await startApi()
    const { stdout, stderr, failure } = await run(api, ['add', URL])
    expect(failure).toBeNull()
    expect(stdout).toEqual([expect.stringMatching(SECRET)])
    expect(stderr.join('\n')).not.toContain(stdout[0])
    expect(stderr[0]).toMatch(/^created ep_\S+ of the tenant default for https:\/\/hooks.example\/in$/)
  })

  test('sends what its flags set: the filter as fields or whole, headers, limits, start', async () => {
    await using api = await startApi({ count: 9 })
    const since = api.store.reader.cursorAt(4)
    const flags = ['--symbols', 'vod,BP.', '--fca-categories', 'FR', '--types', 'gap,webhook.disabled']
    const how = [
      '--header',
      'x-key: a: b',
      '--header',
      'X-B:c',
      '--max-concurrency',
      '2',
      '--rate-limit',
      '0.5',
      '--max-batch',
      '50',
    ]
    const made = await added(api, [
      ...flags,
      ...how,
      '--order',
      'issuer',
      '--since',
      since,
      '--description',
      'd',
    ])
    expect(made).toMatchObject({
      filter: { symbols: ['VOD', 'BP.'], fcaCategories: ['FR'], types: ['gap', 'webhook.disabled'] },
      headers: { 'x-key': 'a: b', 'X-B': 'c' },
      maxConcurrency: 2,
      rateLimit: 0.5,
      order: 'issuer',
      maxBatch: 50,
      description: 'd',
      start: since,
    })
    const filter = { exclude: { preset: 'results' }, filters: [{ q: 'offer' }] }
    expect((await added(api, ['--filter', JSON.stringify(filter)])).filter).toEqual(filter)
    expect((await added(api)).filter).toEqual({})
  })

  test.each<[string[], RegExp]>([
    [['add'], /missing argument: URL/],
    [['add', 'http://hooks.example/'], /^URL must begin with https/],
    [['add', URL, '--symbol', 'VOD'], /mean "symbols"/],
    [['add', URL, '--types', 'gaps'], /mean "gap"/],
    [['add', URL, '--filter', '{'], /filter is not JSON/],
    [['add', URL, '--filter', '{}', '--q', 'offer'], /move it inside/],
    [['add', URL, '--rate-limit', 'none'], /--rate-limit must be a number/],
    [['add', URL, '--max-batch', '1'], /--max-batch must be a whole number from 2 to 100/],
    [['add', URL, '--max-concurrency', '-1'], /--max-concurrency needs a value/],
    [['add', URL, '--header', 'x'], /NAME: VALUE/],
    [['add', URL, '--header', 'a: 1', '--header', 'a: 2'], /each name may occur once/],
    [['add', URL, '--header', 'host: x'], /--header host cannot be set/],
    [['addd'], /mean "add"/],
    [
      [],
      /bridge webhooks needs a verb: add, list, show, update, pause, resume, enable, disable, delete, rotate, test, attempts, deliveries, why, replay, replays, cancel, rewrap/,
    ],
  ])('refuses %j', async (args, message) => {
    await using api = await startApi()
    const { stdout, failure } = await run(api, args)
    const said = failure?.errors.map(({ field, message: text }) => `${field} ${text}`).join('; ')
    expect([stdout, failure?.code]).toEqual([[], 'usage'])
    expect(`${said}${failure?.message}`).toMatch(message)
    expect(failure?.hint).toMatch(/--help|docs|--header/)
  })

  test('suggests another start when the cursor is beyond retention', async () => {
    await using api = await startApi({ count: 5, first: 11 })
    const since = encodeCursor({ epoch: EPOCH, sequence: 3, timeMs: 0 })
    const { failure } = await run(api, ['add', URL, '--since', since])
    expect(failure?.hint).toContain(`--since ${api.store.reader.cursorAt(10)} begins with the oldest`)
  })
})

test('bridge webhooks list shows every endpoint, one a line, and show one, both without a secret', async () => {
  await using api = await startApi({ standingOf: () => null })
  expect((await run(api, ['list'])).stderr).toEqual(['no endpoints yet'])
  const desk = await tokenOf(api, 'desk')
  const { id, secret } = await added(api, ['--description', 'first'], desk)
  api.clock.advance(1)
  const second = await added(api, ['--filter', '{"symbols":["VOD"]}'])
  await run(api, ['disable', second.id])
  const lines = (await run(api, ['list'])).stdout
  expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['ID', 'TENANT', 'STATUS', 'PENDING', 'DEAD', 'LAST SUCCESS', 'URL', 'DESCRIPTION'],
    [id, 'desk', 'active', '–', '–', '–', URL, 'first'],
    [second.id, 'default', 'disabled (requested)', '–', '–', '–', URL, '–'],
  ])
  expect((await run(api, ['list'], desk)).stdout).toHaveLength(2)
  const json = (await run(api, ['list', '--json'])).stdout.map((line) => JSON.parse(line))
  expect(json.map((endpoint) => endpoint.id)).toEqual([id, second.id])
  const shown = (await run(api, ['show', second.id])).stdout
  const pairs = shown.map((line) => line.split(/ {2,}/))
  expect(pairs).toContainEqual(['filter', '{"symbols":["VOD"]}'])
  expect(pairs).toContainEqual(['description', '–'])
  expect(pairs).toContainEqual(['health.pending', '–'])
  expect(JSON.parse((await run(api, ['show', id, '--json'])).stdout.join())).toMatchObject({ id })
  expect(JSON.stringify([lines, json, shown])).not.toContain(secret.slice(6))
})

test('bridge webhooks rotates, disables, enables and deletes one; an unknown id is reported with the remedy', async () => {
  await using api = await startApi()
  const { id, secret } = await added(api)
  const rotated = await run(api, ['rotate', id])
  expect(rotated.stdout).toEqual([expect.stringMatching(SECRET)])
  expect(rotated.stdout).not.toEqual([secret])
  expect(rotated.stderr.join()).toContain('24 hours')
  expect((await run(api, ['disable', id])).stderr).toEqual([`${id} is disabled`])
  expect((await run(api, ['enable', id])).stderr).toEqual([`${id} is active`])
  const gone = await run(api, ['delete', id, '--json'])
  expect(gone.stderr).toEqual([`deleted ${id}`])
  expect(gone.stdout).toEqual([JSON.stringify({ id, deleted: true })])
  for (const verb of ['show', 'pause', 'resume', 'rotate', 'enable', 'disable', 'delete']) {
    const { failure, stdout } = await run(api, [verb, id])
    expect([verb, failure?.message, stdout]).toEqual([
      verb,
      expect.stringMatching(/no endpoint of this id/),
      [],
    ])
    expect(failure?.hint).toContain('bridge webhooks list')
  }
})

test('bridge webhooks update changes what its flags name and leaves the rest; pause and resume change the status', async () => {
  await using api = await startApi()
  const limits = ['--rate-limit', '5', '--max-batch', '9']
  const how = ['--description', 'd', ...limits, '--header', 'x-key: a', '--symbols', 'VOD']
  const { id } = await added(api, how)
  const moved = await run(api, [
    'update',
    id,
    'https://hooks.example/new',
    '--max-concurrency',
    '2',
    '--json',
  ])
  expect(JSON.parse(moved.stdout.join())).toMatchObject({
    url: 'https://hooks.example/new',
    maxConcurrency: 2,
    description: 'd',
    rateLimit: 5,
    maxBatch: 9,
    headers: { 'x-key': 'a' },
    filter: { symbols: ['VOD'] },
  })
  const none = ['description', 'rate-limit', 'max-batch', 'header'].flatMap((name) => [`--${name}`, 'none'])
  const nothing = [...none, '--filter', '{}']
  const bare = await run(api, ['update', id, ...nothing, '--json'])
  expect(JSON.parse(bare.stdout.join())).toMatchObject({
    url: 'https://hooks.example/new',
    description: null,
    rateLimit: null,
    maxBatch: null,
    headers: {},
    filter: {},
  })
  expect((await run(api, ['pause', id])).stderr).toEqual([`${id} is paused`])
  expect((await run(api, ['resume', id])).stderr).toEqual([`${id} is active`])
  const empty = await run(api, ['update', id])
  expect(empty.failure).toMatchObject({ code: 'usage', message: expect.stringContaining('what to change') })
})

test('bridge webhooks rewrap continues until nothing is left, and names secrets that no key opens', async () => {
  await using api = await startApi()
  const under = async (key: string): Promise<string> => {
    const id = newId('ep', 0)
    const wrapped = createSecretBox({ key, oldKey: null }).wrap('a secret', id)
    await api.endpoints.create(wantedEndpoint({ id, secrets: [{ wrapped, untilMs: null }] }))
    return id
  }
  for (let count = 0; count < 450; count += 1) await under(OLD_SECRET_KEY)
  expect((await run(api, ['rewrap'])).stderr).toEqual(['re-encrypted the secrets of 450 endpoints'])
  const lost = await under('a key that nobody here has any more')
  const { stdout, failure } = await run(api, ['rewrap', '--json'])
  expect(JSON.parse(stdout.join())).toEqual({ rewrapped: 0, left: 0, unreadable: [lost] })
  expect(failure).toMatchObject({ code: 'failed', message: expect.stringContaining(lost) })
  expect(failure?.hint).toContain('BRIDGE_SECRET_KEY_OLD')
})

test('bridge webhooks names the missing scope, and lists its verbs with --help', async () => {
  await using api = await startApi()
  const reader = await tokenOf(api, 'desk', ['webhooks:read'])
  expect((await run(api, ['add', URL], reader)).failure?.message).toMatch(/scope webhooks:write/)
  const { context, stdout } = testContext()
  await webhooksCommand(['--help'], context)
  const help = stdout.join('\n')
  for (const verb of ['add URL', 'list', 'show ID', 'update ID', 'pause ID', 'replay ID', 'rewrap']) {
    expect(help).toContain(`bridge webhooks ${verb}`)
  }
  expect((await ask(api, reader, '/v1/webhooks')).body.data).toEqual([])
})
