/** Runs the product for tests of the audit journal, and asks it for changes and entries. */
import { expect } from 'vitest'
import { startApp } from '../../../src/app/app.ts'
import { systemChance, systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { loadSettings } from '../../../src/settings/settings.ts'
import { ADMIN_TOKEN, bridgeEnv, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'

/** An entry of `GET /v1/audit`. */
export interface Entry {
  id: string
  action: string
  outcome: string
  code: string | null
  actor: { token: string; name: string | null; tenant: string; session: string | null }
  requestId: string | null
  address: string | null
  target: string | null
  tenant: string | null
  before: Record<string, unknown>
  after: Record<string, unknown>
}

export const directory = temporaryDirectory()
/** Must be nowhere in the journal. */
export const secrets: string[] = ['header-value-of-desk', 'key-in-the-path', 'second-key-in-path']
let sandbox: Sandbox
let product: Awaited<ReturnType<typeof startProduct>>

const noFile = () => {
  throw Object.assign(new Error('none'), { code: 'ENOENT' })
}

/** The product on the directory of this file. */
async function startProduct(more: Record<string, string> = {}) {
  const env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'ultimate',
    BRIDGE_BACKFILL: 'PT1H',
    BRIDGE_LOG_LEVEL: 'silent',
    BRIDGE_TRUSTED_PROXIES: '127.0.0.0/8',
    BRIDGE_WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
    BRIDGE_WEBHOOK_ALLOW_HTTP: 'true',
    ...more,
  })
  const stopping = new AbortController()
  const app = await startApp(loadSettings(env, noFile), { clock: systemClock, chance: systemChance })
  const ended = app.runUntil(stopping.signal)
  return {
    app,
    url: app.ready.http,
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

/** Starts upstream and product. */
export async function openProduct(): Promise<void> {
  sandbox = await startSandbox(
    { scenario: 'demo', plan: 'ultimate', weeklyQuota: 1_000_000 },
    { clock: systemClock },
  )
  product = await startProduct()
  await eventually(
    async () => product.app.reader.latest,
    (latest) => latest > 20,
  )
}

/** Stops the product and starts it again on its directory. */
export async function restartProduct(more: Record<string, string>): Promise<void> {
  await product.stop()
  product = await startProduct(more)
}

export async function closeProduct(): Promise<void> {
  await product.stop()
  await sandbox.close()
  directory[Symbol.dispose]()
}

/** Where the product answers now. */
export function urlOf(): string {
  return product.url
}

/** Sends a request from the client 192.0.2.7 behind a trusted proxy. */
export async function ask(
  method: string,
  path: string,
  { token = ADMIN_TOKEN, body, headers = {} }: { token?: string; body?: object; headers?: object } = {},
) {
  const response = await fetch(`${product.url}${path}`, {
    method,
    headers: {
      'x-forwarded-for': '192.0.2.7',
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever they expect
  const value: any = text === '' ? null : JSON.parse(text)
  return { status: response.status, headers: response.headers, body: value }
}

export async function entries(query = '', token = ADMIN_TOKEN): Promise<Entry[]> {
  const { status, body } = await ask('GET', `/v1/audit?limit=1000${query}`, { token })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.data
}

/** The newest entry of that action, and of that target, once it is over. */
export async function entryOf(action: string, target = ''): Promise<Entry> {
  const found = await eventually(
    () => entries(`&action=${action}${target === '' ? '' : `&target=${target}`}`),
    ([newest]) => newest !== undefined && newest.outcome !== 'unknown',
  )
  return found[0] as Entry
}

/** A token of the tenant `desk` with every scope. */
export async function deskToken(): Promise<{ id: string; token: string }> {
  const body = {
    tenant: 'desk',
    name: 'desk keys',
    scopes: ['events:read', 'webhooks:read', 'webhooks:write', 'webhooks:replay', 'admin'],
  }
  const made = await ask('POST', '/v1/tokens', { body })
  secrets.push(made.body.token)
  return made.body
}

export async function endpoint(token: string, url: string): Promise<string> {
  const body = {
    url: `${url}/key-in-the-path?k=2`,
    headers: { 'X-Key': 'header-value-of-desk' },
    since: '2000-01-01',
  }
  const made = await ask('POST', '/v1/webhooks', { token, body })
  expect(made.status).toBe(201)
  secrets.push(made.body.secret)
  return made.body.id
}

/** A session of a browser, by its cookie. */
export async function session(token: string): Promise<Record<string, string>> {
  const own = { 'sec-fetch-site': 'same-origin' }
  const begun = await ask('POST', '/v1/sessions', { token: '', body: { token }, headers: own })
  expect(begun.status).toBe(201)
  const cookie = `${begun.headers.get('set-cookie')}`.split(';')[0] ?? ''
  secrets.push(cookie.split('=')[1] ?? cookie)
  return { cookie, ...own }
}
