import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { outcomeOf } from '../../../src/core/attempt-end.ts'
import { checkAddresses } from '../../../src/webhooks/address/guard.ts'
import { createTestAuthority, type TestCertificate } from '../../support/test-certificates.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { type ConnectProxy, startConnectProxy } from '../../support/webhooks/connect-proxy.ts'
import { createTrial, type Trial, targetOf } from '../attempts/attempts.ts'
import { answering, type Receiver, startRawReceiver, startReceiver } from '../receivers.ts'
import { ruleSets } from './corpus/cases.ts'
import { nameCases, proxyCases, rebindingCases, redirectCases } from './corpus/names.ts'

const open: AsyncDisposable[] = []
/** Listens on the public host's port at every address that a bypass would reach; no connection may arrive. */
const forbidden: Receiver[] = []
let host: Receiver
let reply = answering(200)

beforeAll(async () => {
  host = await startReceiver((...args) => reply(...args))
  for (const address of ['127.0.0.1', '127.0.0.3', '::1']) {
    forbidden.push(await startReceiver(answering(200), { address, port: host.port }))
  }
})

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]()
  vi.unstubAllEnvs()
  expect(forbidden.map((one) => one.connections())).toEqual([0, 0, 0])
})

afterAll(async () => {
  for (const one of [host, ...forbidden]) await one[Symbol.asyncDispose]()
})

function trial(options: Parameters<typeof createTrial>[0]): Trial {
  const made = createTrial(options)
  open.push(made)
  return made
}

const hook = (): string => `http://hooks.example:${host.port}/`

/** The outcome of an attempt for the operator, as one word. */
async function endOf(sender: Trial, url = hook()): Promise<string> {
  const { end } = await sender.send(url)
  if (end.kind === 'answered') return end.status === 200 ? 'ok' : String(end.status)
  return end.kind === 'failed' ? outcomeOf(end) : end.kind
}

test.each(
  nameCases.map((one) => ({ one, name: `${one[0]} → ${one[1].slice(0, 3).join(' ')}`, why: one[3] })),
)(
  'the name $name is checked by all its addresses, from a single lookup ($why)',
  async ({ one: [rest, answers, expected, , rules = 'plain'] }) => {
    let asked = 0
    const target = targetOf(`https://${rest}/`, ruleSets[rules])
    const checked = await checkAddresses(target, ruleSets[rules], async () => {
      asked++
      return answers
    })
    expect(checked.kind).toBe(expected)
    expect(asked).toBeLessThanOrEqual(1)
  },
)

test.each(rebindingCases.map(([answers, ends, why]) => ({ answers, ends, why })))(
  'a name that changes its addresses never leads an attempt to the private host: $why',
  async ({ answers, ends }) => {
    const before = host.requests.length
    const sender = trial({ answers })
    for (const end of ends) expect(await endOf(sender)).toBe(end)
    expect(sender.asked.length, 'one question an attempt').toBe(ends.length)
    expect(host.requests.length - before).toBe(ends.filter((end) => end === 'ok').length)
  },
)

test.each(redirectCases.map(([status, location, why]) => ({ status, location, why })))(
  'a redirect is never followed: $status $why',
  async ({ status, location }) => {
    const [private3] = forbidden
    const before = host.requests.length
    reply = answering(status, '', { location: location.replace('X', `127.0.0.3:${private3?.port}`) })
    const { end } = await trial({}).send(hook())
    reply = answering(200)
    expect(end).toMatchObject({ kind: 'answered', status })
    expect(host.requests.length - before).toBe(1)
  },
)

/** A proxy whose tunnels lead to the public host. */
async function startProxy(certificate?: TestCertificate): Promise<ConnectProxy> {
  const onward = (): Socket => connect(host.port, host.address)
  const proxy = await startConnectProxy({ onward, ...(certificate && { certificate }) })
  open.push(proxy)
  return proxy
}

test.each(proxyCases.map(([answers, end, asked, why]) => ({ answers, end, asked, why })))(
  'the address guard applies behind the proxy too: $why',
  async ({ answers, end, asked }) => {
    const proxy = await startProxy()
    const proxyUrl = proxy.url.replace('//', '//user:w%40rd@')
    expect(await endOf(trial({ answers: [answers], proxyUrl }))).toBe(end)
    const word = `Basic ${Buffer.from('user:w@rd').toString('base64')}`
    expect(proxy.asked).toEqual(asked === null ? [] : [{ target: `${asked}:${host.port}`, word }])
    expect(host.requests.at(-1)?.request.headers['proxy-authorization']).toBeUndefined()
  },
)

test('a proxy that refuses or is unreachable is a connection failure', async () => {
  const refusing = await startProxy()
  refusing.script(403)
  const refused = await trial({ proxyUrl: refusing.url }).send(hook())
  expect(refused).toMatchObject({
    end: { fault: 'connect' },
    phase: 'connect',
    detail: 'the proxy answered 403',
  })
  const away = await trial({ proxyUrl: 'http://127.0.0.4:9/' }).send(hook())
  expect(away).toMatchObject({ end: { fault: 'connect' }, phase: 'connect' })
})

test('a TLS proxy is used if its certificate is valid; otherwise it receives no request', async () => {
  const { ca, issue } = createTestAuthority()
  const proxy = await startProxy(issue(['localhost']))
  const stranger = await startProxy(createTestAuthority().issue(['localhost']))
  expect(await endOf(trial({ ca, proxyUrl: proxy.url }))).toBe('ok')
  expect(proxy.asked.map(({ target }) => target)).toEqual([`${host.address}:${host.port}`])
  expect(await trial({ ca, proxyUrl: stranger.url }).send(hook())).toMatchObject({
    end: { fault: 'connect' },
    phase: 'connect',
    detail: expect.stringContaining('the proxy cannot be used'),
  })
  expect(stranger.asked).toEqual([])
})

test.each([
  ['accepts the request and never responds', 'http'],
  ['never responds to the TLS handshake', 'https'],
])('a proxy that %s times out after five seconds and its connection is closed', async (_what, scheme) => {
  const clock = createManualClock()
  const silent = await startRawReceiver(() => undefined)
  open.push(silent)
  const sent = trial({ clock, proxyUrl: `${scheme}://${silent.address}:${silent.port}` }).send(hook())
  await expect.poll(silent.open).toBe(1)
  clock.advance(5_000)
  expect(await sent).toMatchObject({ end: { fault: 'timeout' }, phase: 'connect', durationMs: 5_000 })
  await expect.poll(silent.open).toBe(0)
})

test('the proxy settings of the environment are never used', async () => {
  const proxy = await startProxy()
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']) {
    vi.stubEnv(name, proxy.url)
  }
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
  expect(await endOf(trial({}))).toBe('ok')
  expect(proxy.asked).toEqual([])
})

test('a socket connected to another address than the checked one receives no byte', async () => {
  const decoy = await startReceiver(answering(200), { address: '127.0.0.5' })
  open.push(decoy)
  for (const scheme of ['http', 'https']) {
    const sender = trial({ dial: () => connect(decoy.port, decoy.address) })
    const report = await sender.send(`${scheme}://hooks.example:${host.port}/`)
    expect(report).toMatchObject({ end: { fault: 'blocked' }, phase: 'connect' })
    expect(report.detail).toContain('127.0.0.5')
  }
  expect(decoy.requests).toEqual([])
})

test('a public address that turns out to be one of this machine is refused', async () => {
  const sender = trial({
    answers: [['8.8.8.8']],
    dial: () => {
      const socket = connect(host.port, host.address)
      for (const side of ['remoteAddress', 'localAddress'])
        Object.defineProperty(socket, side, { value: '8.8.8.8' })
      return socket
    },
  })
  const before = host.requests.length
  const report = await sender.send('https://hooks.example/')
  expect(report).toMatchObject({ end: { fault: 'blocked' }, detail: '8.8.8.8 is this machine itself' })
  expect(host.requests.length).toBe(before)
})
