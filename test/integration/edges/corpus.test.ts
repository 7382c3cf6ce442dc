/**
 * Attacks the running product with requests, WebSocket frames and webhook answers that no honest peer sends, generated
 * from its API document. No answer is a 5xx but 503, none shows what its token may not see, and nothing grows.
 */
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closing } from '../../streams/transport/vectors/closing.ts'
import { control } from '../../streams/transport/vectors/control.ts'
import { fragmentation } from '../../streams/transport/vectors/fragmentation.ts'
import { framing } from '../../streams/transport/vectors/framing.ts'
import { reserved } from '../../streams/transport/vectors/reserved.ts'
import { utf8 } from '../../streams/transport/vectors/utf8.ts'
import { textFrame } from '../../streams/transport/vectors/vector.ts'
import { ADMIN_TOKEN } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { liveBytes } from '../../support/live-bytes.ts'
import { hostileAnswers, startHostileReceivers } from '../../support/product/hostile-receivers.ts'
import { type Honest, hostileForms } from '../../support/product/hostile-requests.ts'
import { hostileValues } from '../../support/product/hostile-values.ts'
import { exchange, type RawAnswer } from '../../support/product/raw-exchange.ts'
import { BODIES, NEEDS, SCOPES, SEE } from '../../support/product/scopes-needed.ts'
import { type DocumentedOperation, type Product, startProduct } from '../../support/product/whole-product.ts'
import { createWire, type Wire } from '../../support/product/wire.ts'
import { FIN, OPCODES, openRaw } from '../../support/streams/raw-stream.ts'
import { spellingsOfV4 } from '../../webhooks/address/naive-oracle.ts'

const MIB = 1024 * 1024
/** Endpoints, tokens and events that the attacks legally make lie in it too. */
const MOST_GROWTH_MIB = 16
/** Is in everything that the tenant `owner` stores. */
const CANARY = 'zcanaryz'
const AT_ONCE = 16
/** Where clouds give machines their credentials. */
const METADATA = '169.254.169.254'

let product: Product
/** Of honest requests. */
let wire: Wire
let owner: { endpoint: string; token: string }
/** Of another tenant: one that may list endpoints only, and one with every scope. */
let low: string
let full: string
const counts = { requests: 0, streams: 0, answers: 0, addresses: 0 }
let before: { bytes: number; files: number }

/** Where no delivery may go: an address outside of the allowed one, and one that only a redirect names. */
const victim = createServer((_, response) => {
  hits += 1
  response.end()
})
let hits = 0
let inner: string[]

beforeAll(async () => {
  await new Promise<void>((resolve) => victim.listen(0, '127.0.0.3', resolve))
  const { port } = victim.address() as AddressInfo
  inner = [`http://127.0.0.3:${port}/`, `//127.0.0.3:${port}/`, `http://${METADATA}/latest/meta-data/`]
  product = await startProduct({
    BRIDGE_WEBHOOK_ALLOW_NETS: '127.0.0.1/32',
    BRIDGE_WEBHOOK_ALLOW_HTTP: 'true',
    // The fund paths are on, and soon have nothing left to spend.
    BRIDGE_GATEWAY_WEEKLY_UNITS: '1',
  })
  wire = createWire(product.url)
  const owning = await makeToken(`owner-${CANARY}`, SCOPES)
  const { id } = await ask<{ id: string }>('POST', '/v1/webhooks', owning.token, {
    url: `http://127.0.0.1:1/${CANARY}`,
    description: CANARY,
    headers: { 'x-key': CANARY },
    filter: { isins: ['GB00B03MLX29'] },
  })
  owner = { endpoint: id, token: owning.id }
  low = (await makeToken('stranger', [SEE])).token
  full = (await makeToken('stranger', SCOPES)).token
  // Code is compiled before anything is measured.
  await attackWith(hostileForms.filter((_, at) => at % 10 === 0))
  await attackStream([textFrame('{"action":"subscribe"}')])
  hangUp()
  before = { bytes: await liveBytes(), files: openFiles() }
})

/** Closes the connections of our own requests. */
function hangUp(): void {
  wire[Symbol.dispose]()
  wire = createWire(product.url)
}

afterAll(async () => {
  hangUp()
  await product[Symbol.asyncDispose]()
  await new Promise((resolve) => victim.close(resolve))
})

function openFiles(): number {
  return readdirSync('/proc/self/fd').length
}

async function ask<T>(method: string, path: string, token: string, body?: object): Promise<T> {
  const { status, text } = await wire.send({
    method,
    path,
    headers: [
      ['authorization', `Bearer ${token}`],
      ...(body === undefined ? [] : [['content-type', 'application/json'] as const]),
    ],
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
  return JSON.parse(text === '' ? '{}' : text) as T
}

function makeToken(tenant: string, scopes: readonly string[]): Promise<{ id: string; token: string }> {
  return ask('POST', '/v1/tokens', ADMIN_TOKEN, { tenant, scopes, name: tenant })
}

/** Calls it for each, some at once. */
async function forAll<T>(all: readonly T[], call: (one: T) => Promise<unknown>): Promise<void> {
  const waiting = all.values()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const one of waiting) await call(one)
    }),
  )
}

interface Attack {
  operation: DocumentedOperation
  who: 'nobody' | 'low' | 'full'
  form: (typeof hostileForms)[number]
}

/** What an honest client of these rights sends; ids of endpoints and tokens are those of another tenant. */
function honest({ method, path, name }: DocumentedOperation, who: Attack['who']): Honest {
  const token = who === 'low' ? low : full
  const field = path.startsWith('/v2/') ? `X-Api-Key: ${token}` : `Authorization: Bearer ${token}`
  const body = BODIES[name]
  return {
    method,
    template: path,
    path: path
      .replace('{id}', path.includes('/tokens/') ? owner.token : owner.endpoint)
      .replace(/\{\w+\}/, 'GB00B10RZP78'),
    credential: who === 'nobody' ? '' : `${field}\r\n`,
    ...(body !== undefined && { body: JSON.stringify(body).replace('TENANT', 'stranger') }),
  }
}

/** Whether anything but a refusal would be a bypass. */
function mustBeRefused({ operation: { name, path }, who, form }: Attack): boolean {
  if (form.isNone === true) return true
  const need = NEEDS[name] ?? ''
  if (who === 'nobody') return need !== 'open'
  if (who === 'low') return !['open', 'any', SEE].includes(need) || path.includes('{id}')
  return /^\/v1\/(webhooks|tokens)\/\{id\}/.test(path)
}

/** What is wrong with the answer; empty where nothing is. */
function faultsOf(attack: Attack, { statuses, text }: RawAnswer): string[] {
  const where = `${attack.operation.name} as ${attack.who}, ${attack.form.name}: ${statuses}`
  const faults: string[] = []
  if (statuses.some((status) => status >= 500 && status !== 503))
    faults.push(`${where} ${text.slice(0, 200)}`)
  if (statuses.length > 1) faults.push(`${where}: more than one answer`)
  if (text.includes(CANARY)) faults.push(`${where}: shows another tenant`)
  if (mustBeRefused(attack) && statuses.some((status) => status < 300)) faults.push(`${where}: is done`)
  return faults
}

/** Every operation in these forms by nobody, by a token of few rights and by one of all. */
async function attackWith(forms: typeof hostileForms): Promise<string[]> {
  const faults: string[] = []
  const attacks = product.operations.flatMap((operation) =>
    forms.flatMap((form) => (['nobody', 'low', 'full'] as const).map((who) => ({ operation, who, form }))),
  )
  await forAll(attacks, async (attack) => {
    const bytes = attack.form.bytes(honest(attack.operation, attack.who))
    if (bytes === null) return
    counts.requests += 1
    try {
      faults.push(...faultsOf(attack, await exchange(product.port, bytes, attack.form.isCut)))
    } catch (error) {
      faults.push(`${attack.operation.name} as ${attack.who}, ${attack.form.name}: ${String(error)}`)
    }
  })
  return faults
}

test('no hostile request to any operation is answered 5xx but 503, nor gets what its token may not see', async () => {
  counts.requests = 0
  expect(await attackWith(hostileForms)).toEqual([])
  // 41 operations, 91 forms, three credentials: 10,413 when this was written.
  expect(counts.requests).toBeGreaterThan(10_000)
})

/** Sends the frames on a connection of its own. Returns the close code and the numbers of errors. */
async function attackStream(frames: readonly Buffer[]): Promise<{ code: number | null; errors: number[] }> {
  const client = await openRaw({
    listener: { port: product.port },
    auth: { authorization: `Bearer ${full}` },
  })
  counts.streams += 1
  client.send(...frames, textFrame('{"action":"ping","id":"last"}'))
  await eventually(
    () => client.closeCode() !== null || client.texts.some((text) => text.includes('"last"')),
    (isOver) => isOver,
  )
  const code = client.closeCode()
  client.destroy()
  await client.ended
  const errors = client.texts.flatMap((text) => {
    const { type, code: number } = JSON.parse(text) as { type: string; code: number }
    return type === 'error' ? [number] : []
  })
  return { code, errors }
}

test('no hostile frame or command of a WebSocket is an internal error', async () => {
  const sections = [framing, control, reserved, fragmentation, utf8, closing].flat()
  const frames = sections.flatMap(({ vectors }) =>
    vectors.map(({ before: first = [], send }) => [...first, ...send]),
  )
  const members = ['action', 'id', 'filter', 'from', 'onGap', 'token', 'other']
  const commands = ['subscribe', 'unsubscribe', 'auth', 'ping'].flatMap((action) =>
    Object.values(hostileValues).flatMap((json) => [
      [textFrame(json)],
      ...members.map((member) => [textFrame(`{"action":"${action}",${JSON.stringify(member)}:${json}}`)]),
      ...['isins', 'q', 'exclude', 'filters', 'types'].map((field) => [
        textFrame(`{"action":"${action}","filter":{"${field}":${json}},"from":{"after":${json}}}`),
      ]),
    ]),
  )
  const wrong: unknown[] = []
  counts.streams = 0
  await forAll([...frames, ...commands], async (bytes) => {
    const seen = await attackStream(bytes)
    // The server sends back the code with which a client closes.
    const isEcho = bytes.some((piece) => piece[0] === (FIN | OPCODES.close))
    if ((seen.code === 1011 && !isEcho) || seen.errors.includes(500)) wrong.push([bytes.map(String), seen])
  })
  expect(wrong).toEqual([])
  // 361 sequences of frames and 884 commands when this was written.
  expect(counts.streams).toBeGreaterThan(1000)
})

test('no hostile answer of a receiver leads inside, holds a delivery or shows more than a kilobyte', async () => {
  const answers = hostileAnswers(inner)
  await using receivers = await startHostileReceivers(answers)
  const names = Object.keys(answers)
  const wrong: unknown[] = []
  await forAll(names, async (name) => {
    const { id } = await ask<{ id: string }>('POST', '/v1/webhooks', full, { url: receivers.urls.get(name) })
    const begun = performance.now()
    const test = await eventually(
      () => ask<Tried>('POST', `/v1/webhooks/${id}/test`, full).catch(() => null),
      (tried) => tried !== null,
    )
    counts.answers += 1
    const tookMs = performance.now() - begun
    const response = test?.response ?? ''
    if (Buffer.byteLength(response) > 1024 + 3 || tookMs > 60_000) wrong.push([name, tookMs, response.length])
    if (/^30/.test(name) && test?.status !== Number(name.slice(0, 3))) wrong.push([name, test])
  })
  expect(wrong).toEqual([])
  expect(hits).toBe(0)
  const made = await ask<{ data: { id: string }[] }>('GET', '/v1/webhooks?limit=1000', full)
  await forAll(made.data, ({ id }) => ask('DELETE', `/v1/webhooks/${id}`, full))
  // 21 redirects and 38 other answers when this was written.
  expect(counts.answers).toBeGreaterThan(55)
}, 240_000)

interface Tried {
  status: number | null
  response: string | null
}

test('no spelling of an inner address is taken as a webhook', async () => {
  const nets = [
    '127.0.0.3',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
  ]
  const numbers = nets.map((net) => net.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n))
  const hosts = numbers.flatMap((value) => [
    ...spellingsOfV4(value).map((text) => (text.includes(':') ? `[${text}]` : text)),
    String(value),
    `0x${value.toString(16)}`,
    `0${value.toString(8)}`,
  ])
  const taken: string[] = []
  const refuse = async (method: string, path: string, url: string): Promise<void> => {
    counts.addresses += 1
    const isTaken = await ask(method, path, full, { url }).then(
      () => true,
      (error: Error) => !/: 400 /.test(error.message),
    )
    if (isTaken) taken.push(`${method} ${url}`)
  }
  const { id } = await ask<{ id: string }>('POST', '/v1/webhooks', full, { url: 'https://hooks.example/' })
  await forAll(hosts, async (host) => {
    for (const url of [`http://${host}/`, `https://${host}:8443/`, `http://user@${host}./x`]) {
      await refuse('POST', '/v1/webhooks', url)
      await refuse('PATCH', `/v1/webhooks/${id}`, url)
    }
  })
  expect(taken).toEqual([])
  // Seven addresses in 14 spellings, as three URLs, in two requests.
  expect(counts.addresses).toBe(588)
})

test('after all of these memory and open files are as before, and an honest client is served', async () => {
  hangUp()
  // Connections of webhooks, which stay for four seconds, are closed again.
  await eventually(openFiles, (files) => files <= before.files + 10)
  const grownMib = await eventually(
    async () => Math.round(((await liveBytes()) - before.bytes) / MIB),
    (mib) => mib <= MOST_GROWTH_MIB,
  )
  expect(grownMib).toBeLessThanOrEqual(MOST_GROWTH_MIB)
  const metrics = await (await fetch(`${product.app.ready.ops}/metrics`)).text()
  for (const name of ['stream_clients{transport="ws"}', 'stream_clients{transport="sse"}'])
    expect(metrics).toContain(`bridge_${name} 0\n`)
  expect(metrics).toContain('bridge_webhook_attempts_under_way 0\n')
  const page = await ask<{ data: unknown[] }>('GET', '/v1/disclosures?tail=1', ADMIN_TOKEN)
  expect(page.data).toHaveLength(1)
})
