/**
 * Puts hostile values into every member of every body that the API document describes, over real sockets: each is
 * answered 400 or is legal there, none with 500.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from '../../../src/app/app.ts'
import { systemChance, systemClock } from '../../../src/lifecycle/clock.ts'
import { loadSettings } from '../../../src/settings/settings.ts'
import { ADMIN_TOKEN, bridgeEnv, temporaryDirectory } from '../../support/bridge-process.ts'
import { until } from '../../support/http/api-server.ts'
import { hostileValues, NEVER_LEGAL } from '../../support/product/hostile-values.ts'

/** The value itself, and inside what a member may take. */
const places: readonly ((json: string) => string)[] = [
  (json) => json,
  (json) => `[${json}]`,
  (json) => `{"x-key":${json}}`,
]
/** Members that make a body complete, so that a member in question is the only wrong one. */
const COMPLETE: Readonly<Record<string, object>> = {
  'POST /v1/webhooks': { url: 'https://hooks.example/in' },
  'POST /v1/tokens': { tenant: 'desk', scopes: ['events:read'] },
  'POST /v1/webhooks/{id}/replay': { dryRun: true },
}

interface Schema {
  $ref?: string
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
}

interface Document {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>
  components: { schemas: Record<string, Schema> }
}

const directory = temporaryDirectory()
const stopping = new AbortController()
const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
let app: App
let running: Promise<void>
let document: Document
let endpointId: string
/** The session of a browser, which some operations are for. */
let cookie: string

beforeAll(async () => {
  const env = bridgeEnv({ url: 'http://127.0.0.1:1/v2', key: 'k' }, directory.path, {
    BRIDGE_LOG_LEVEL: 'silent',
  })
  app = await startApp(loadSettings(env, noFile), { clock: systemClock, chance: systemChance })
  running = app.runUntil(stopping.signal)
  document = (await (await fetch(`${app.ready.http}/openapi.json`)).json()) as Document
  await until(async () => {
    const made = await send('POST /v1/webhooks', '{"url":"https://hooks.example/in"}')
    if (made.status === 201) endpointId = (JSON.parse(made.text) as { id: string }).id
    return made.status === 201
  })
  const begun = await fetch(`${app.ready.http}/v1/sessions`, { method: 'POST', headers })
  cookie = begun.headers.getSetCookie()[0]?.split(';')[0] ?? ''
})

afterAll(async () => {
  stopping.abort()
  await running
  directory[Symbol.dispose]()
})

function noFile(path: string): never {
  throw Object.assign(new Error(path), { code: 'ENOENT' })
}

async function send(operation: string, body: string): Promise<{ status: number; text: string }> {
  const [method = '', path = ''] = operation.split(' ')
  const { authorization, ...others } = headers
  const response = await fetch(`${app.ready.http}${path.replace('{id}', endpointId)}`, {
    method,
    headers: ofSession(operation)
      ? { ...others, cookie, 'sec-fetch-site': 'same-origin' }
      : { ...others, authorization },
    body,
  })
  return { status: response.status, text: await response.text() }
}

function ofSession(operation: string): boolean {
  return operation.includes(' /v1/sessions/current')
}

/** The operations that take a body, with the paths of all its members: `filter.isins` lies in `filter`. */
function operations(): { operation: string; members: string[][] }[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) => {
      const schema = requestBody?.content['application/json']?.schema
      if (schema === undefined) return []
      return [{ operation: `${method.toUpperCase()} ${path}`, members: membersOf(schema, 3) }]
    }),
  )
}

function membersOf(schema: Schema, depth: number): string[][] {
  const name = schema.$ref?.split('/').at(-1)
  const whole = name === undefined ? schema : (document.components.schemas[name] ?? {})
  const inner = [...(whole.anyOf ?? []), ...(whole.oneOf ?? [])].flatMap((one) => membersOf(one, depth))
  if (depth === 0) return inner
  const own = Object.entries(whole.properties ?? {}).flatMap(([member, type]) => [
    [member],
    ...membersOf(type, depth - 1).map((path) => [member, ...path]),
  ])
  const all = [...own, ...inner].map((path) => path.join(' '))
  return [...new Set(all)].map((path) => path.split(' '))
}

/** The body with that JSON at the path. */
function bodyWith(base: object, [member = '', ...rest]: string[], json: string): string {
  const value = rest.length === 0 ? json : bodyWith({}, rest, json)
  const { [member]: _, ...others } = base as Record<string, unknown>
  const parts = Object.entries(others).map(([name, own]) => `${JSON.stringify(name)}:${JSON.stringify(own)}`)
  return `{${[...parts, `${JSON.stringify(member)}:${value}`].join(',')}}`
}

test('no hostile value in any member of any body is answered with 500', async () => {
  const wrong: string[] = []
  const bodies = operations()
  let sent = 0
  const judge = async (operation: string, body: string, kind: string, where: string): Promise<void> => {
    const { status, text } = await send(operation, body)
    sent += 1
    // A text may be a token, which is not that of the session.
    const isRefused = status === 400 || (ofSession(operation) && status === 403)
    const isFine = NEVER_LEGAL.includes(kind) ? isRefused : isRefused || status < 300
    if (!isFine) wrong.push(`${operation} ${where} ${kind}: ${status} ${text.slice(0, 100)}`)
  }
  for (const { operation, members } of bodies) {
    for (const [kind, json] of Object.entries(hostileValues)) {
      await judge(operation, json, kind, 'the whole body')
      for (const path of members) {
        for (const place of places) {
          const body = bodyWith(COMPLETE[operation] ?? {}, path, place(json))
          await judge(operation, body, kind, path.join('.'))
        }
      }
    }
  }
  expect(wrong).toEqual([])
  expect(Object.keys(hostileValues)).toHaveLength(17)
  expect(bodies.map(({ operation }) => operation)).toEqual(
    expect.arrayContaining([
      'POST /v1/webhooks',
      'PATCH /v1/webhooks/{id}',
      'POST /v1/webhooks/{id}/replay',
      'POST /v1/tokens',
      'POST /v1/filters/test',
    ]),
  )
  // Five bodies with 101 members, 17 kinds in three places, and in place of each body: 5,236 when this was written.
  expect(sent).toBeGreaterThan(5000)
})
