/**
 * Makes every change that the product's routes can make, over real sockets, and finds each in the audit journal: with who,
 * from where and what, and without any secret.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { documentedRoutes } from '../../../docs/generate.ts'
import { type AuditAction, auditActionNames } from '../../../src/http/audit/audit-actions.ts'
import { ADMIN_TOKEN, runToEnd, SECRET_KEY } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'
import {
  ask,
  closeProduct,
  deskToken,
  directory,
  type Entry,
  endpoint,
  entries,
  entryOf,
  openProduct,
  restartProduct,
  secrets,
  session,
  urlOf,
} from './audited-product.ts'

beforeAll(openProduct)
afterAll(closeProduct)

test('every changing route records its action: who, from where, which target, what', async () => {
  await using receiver = await startReceiver()
  const desk = await deskToken()
  const { token } = desk
  const id = await endpoint(token, receiver.url)
  const one = `/v1/webhooks/${id}`
  const cookies = await session(token)
  /** For each action what makes it, and what its entry says besides. */
  const made: Record<AuditAction, [make: () => Promise<unknown>, entry: Partial<Entry>]> = {
    'token.created': [
      async () => undefined,
      {
        actor: { token: 'settings', name: null, tenant: 'default', session: null },
        target: desk.id,
        tenant: 'desk',
        before: {},
        after: expect.objectContaining({ name: 'desk keys', tenant: 'desk' }),
      },
    ],
    'webhook.created': [
      async () => undefined,
      {
        actor: { token: desk.id, name: 'desk keys', tenant: 'desk', session: null },
        target: id,
        after: expect.objectContaining({
          url: `${new URL(receiver.url).origin}/[hidden]`,
          headers: '[hidden]',
          secrets: '[hidden]',
          status: 'active',
        }),
      },
    ],
    'webhook.updated': [
      () =>
        ask('PATCH', one, {
          token,
          body: { url: `${receiver.url}/second-key-in-path`, maxConcurrency: 3, description: null },
        }),
      {
        target: id,
        before: { url: `${new URL(receiver.url).origin}/[hidden]`, maxConcurrency: 8 },
        after: { url: `${new URL(receiver.url).origin}/[hidden]`, maxConcurrency: 3 },
      },
    ],
    'webhook.secret_rotated': [
      async () => {
        const rotated = await ask('POST', `${one}/rotate`, { token })
        secrets.push(rotated.body.secret)
      },
      { target: id, before: { secrets: '[hidden]' }, after: { secrets: '[hidden]' } },
    ],
    'webhook.tested': [
      () => ask('POST', `${one}/test`, { token }),
      { target: id, after: expect.objectContaining({ outcome: 'ok' }) },
    ],
    'webhook.disabled': [
      () => ask('POST', `${one}/disable`, { token }),
      {
        target: id,
        before: { status: 'active', disabledReason: null },
        after: { status: 'disabled', disabledReason: 'requested' },
      },
    ],
    'webhook.replay_started': [
      () => ask('POST', `${one}/replay`, { token, body: { since: '2000-01-01' } }),
      { target: id, after: expect.objectContaining({ which: 'all', replay: expect.stringMatching(/^rp_/) }) },
    ],
    'webhook.replay_cancelled': [
      async () => {
        const { body } = await eventually(
          () => ask('GET', `${one}/replays`, { token }),
          ({ body }) => body.data?.length > 0,
        )
        const answer = await ask('DELETE', `${one}/replays/${body.data[0].id}`, { token })
        expect(answer.status).toBeOneOf([202, 204])
      },
      { target: id, before: { replay: expect.stringMatching(/^rp_/) } },
    ],
    'webhook.enabled': [
      () => ask('POST', `${one}/enable`, { token }),
      { target: id, after: { status: 'active', disabledReason: null } },
    ],
    'webhook.secrets_re_encrypted': [
      // Nothing lies under an old key here: the last test has the entry.
      async () => expect((await ask('POST', '/v1/webhooks/rewrap')).body.rewrapped).toBe(0),
      {},
    ],
    'webhook.deleted': [
      () => ask('DELETE', one, { token }),
      { target: id, before: expect.objectContaining({ headers: '[hidden]' }), after: {} },
    ],
    'polling.paused': [
      () => ask('POST', '/v1/admin/polling/pause', { body: { reason: 'for this test' } }),
      {
        actor: { token: 'settings', name: null, tenant: 'default', session: null },
        target: 'polling',
        tenant: null,
        after: { paused: true, since: expect.any(String), by: 'settings', reason: 'for this test' },
      },
    ],
    'polling.resumed': [
      () => ask('POST', '/v1/admin/polling/resume', { body: {} }),
      { target: 'polling', before: expect.objectContaining({ paused: true, reason: 'for this test' }) },
    ],
    'polling.poll_ordered': [
      () => ask('POST', '/v1/admin/polling/now'),
      {
        ...{ target: 'polling', tenant: null },
        before: { nextPoll: expect.any(String) },
        after: { nextPoll: expect.any(String) },
      },
    ],
    'gap.retry_ordered': [
      () => ask('POST', '/v1/admin/gaps/none/retry'),
      { target: 'none', tenant: null, outcome: 'failed', code: 'not_found' },
    ],
    'day.reconciliation_ordered': [
      () => ask('POST', '/v1/admin/days/2020-01-01/reconcile'),
      { target: '2020-01-01', tenant: null, outcome: 'failed', code: expect.any(String) },
    ],
    'leader.step_down_ordered': [
      () => ask('POST', '/v1/admin/leader/step-down'),
      { target: 'leader', tenant: null, outcome: 'failed', code: 'not_now' },
    ],
    'log_level.changed': [
      () => ask('POST', '/v1/admin/log-level', { body: { level: 'error', seconds: 1 } }),
      {
        tenant: null,
        before: { level: 'silent', until: null },
        after: { level: 'error', until: expect.any(String) },
      },
    ],
    'stream.ended': [
      async () => {
        const gone = new AbortController()
        const { body } = await fetch(`${urlOf()}/v1/events`, {
          headers: { authorization: `Bearer ${token}` },
          signal: gone.signal,
        })
        const streams = await ask('GET', '/v1/streams', { token })
        await ask('DELETE', `/v1/streams/${streams.body.data[0].id}`, { token })
        await body?.cancel()
        gone.abort()
      },
      { tenant: 'desk', before: { transport: 'sse', tokenId: desk.id } },
    ],
    'session.link_created': [
      async () => {
        const link = await ask('POST', '/v1/sessions/links', { token })
        secrets.push(link.body.code)
      },
      { target: desk.id },
    ],
    'session.begun': [async () => undefined, { tenant: 'desk', target: expect.any(String) }],
    'session.unlocked': [
      () => ask('POST', '/v1/sessions/current/unlock', { token: '', body: { token }, headers: cookies }),
      { actor: { token: desk.id, name: 'desk keys', tenant: 'desk', session: expect.any(String) } },
    ],
    'session.ended': [
      () => ask('DELETE', '/v1/sessions/current', { token: '', headers: cookies }),
      { tenant: 'desk' },
    ],
    'token.deleted': [
      () => ask('DELETE', `/v1/tokens/${desk.id}`),
      { target: desk.id, tenant: 'desk', before: expect.objectContaining({ name: 'desk keys' }), after: {} },
    ],
  }
  for (const [action, [make, expected]] of Object.entries(made)) {
    await make()
    if (action === 'webhook.secrets_re_encrypted') continue
    expect([action, await entryOf(action)]).toEqual([
      action,
      expect.objectContaining({ action, outcome: 'done', code: null, address: '192.0.2.7', ...expected }),
    ])
  }
})

test('every route that may change something names its action, and every action has a route', () => {
  const routes = documentedRoutes()
  const silent = routes.filter(({ method, audit, isReadOnly }) => method !== 'GET' && !audit && !isReadOnly)
  expect(silent.map(({ method, path }) => `${method} ${path}`)).toEqual([])
  expect(new Set(routes.flatMap(({ audit }) => audit ?? []))).toEqual(new Set(auditActionNames))
  const readOnly = routes.filter(({ method, audit }) => method !== 'GET' && audit === undefined)
  expect(readOnly.map(({ path }) => path).sort()).toEqual(['/v1/filters/test', '/v1/tickets'])
})

test('no secret, token, header value or path of a URL is in a file of the journal', async () => {
  expect(secrets.length).toBeGreaterThan(6)
  const names = readdirSync(directory.path).filter((name) => name.startsWith('audit.db'))
  expect(names).toContain('audit.db')
  const stored = Buffer.concat(names.map((name) => readFileSync(join(directory.path, name)))).toString(
    'latin1',
  )
  expect(stored).toContain('webhook.created')
  const listed = JSON.stringify(await entries())
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(8)
    expect([stored.includes(secret), listed.includes(secret)]).toEqual([false, false])
  }
})

test('a refused change is recorded as failed; one that never came to a change is not', async () => {
  await using receiver = await startReceiver()
  const { token } = await deskToken()
  const id = await endpoint(token, receiver.url)
  await ask('PATCH', `/v1/webhooks/${id}`, {
    token,
    body: { maxConcurrency: 2 },
    headers: { 'if-match': '"0000000000000000"' },
  })
  expect(await entryOf('webhook.updated', id)).toMatchObject({
    outcome: 'failed',
    code: 'precondition_failed',
    before: {},
    after: {},
  })
  const known = (await entries()).map((one) => one.id)
  await ask('PATCH', `/v1/webhooks/${id}`, { token, body: { maxConcurrency: 0 } })
  await ask('DELETE', '/v1/webhooks/ep_none', { token })
  await ask('DELETE', `/v1/webhooks/${id}`, { token: 'no token at all' })
  // Entries are written in the order of the requests: one of those before would stand before this one.
  const marker = await deskToken()
  await entryOf('token.created', marker.id)
  const added = (await entries()).filter((one) => !known.includes(one.id))
  expect(added.map(({ action, target }) => [action, target])).toEqual([['token.created', marker.id]])
})

test("a tenant's admin sees what happened to the tenant, and not from where the operator came", async () => {
  const { token, id } = await deskToken()
  await eventually(
    () => entries(`&target=${id}`, token),
    (found) => found.length === 1,
  )
  const own = await entries('', token)
  expect(new Set(own.map(({ tenant }) => tenant))).toEqual(new Set(['desk']))
  const byOperator = own.find(({ target }) => target === id)
  expect(byOperator).toMatchObject({ actor: { token: 'settings' }, address: null })
  const body = { tenant: 'other', scopes: ['admin', 'events:read'], name: 'theirs' }
  const other = await ask('POST', '/v1/tokens', { body })
  secrets.push(other.body.token)
  await eventually(
    () => entries('', other.body.token),
    (found) => found.length === 1,
  )
  const reader = await ask('POST', '/v1/tokens', { body: { tenant: 'other', scopes: ['events:read'] } })
  expect((await ask('GET', '/v1/audit', { token: reader.body.token })).status).toBe(403)
})

test('wrong parameters are refused with the near match', async () => {
  const { status, body } = await ask('GET', '/v1/audit?action=token.create&since=lately&after=x')
  expect([status, body.errors.map(({ field }: { field: string }) => field)]).toEqual([
    400,
    ['after', 'action', 'since'],
  ])
  expect(JSON.stringify(body)).toContain('token.created')
})

test('bridge audit prints a row for each change, or JSON, filtered', async () => {
  const env = { BRIDGE_URL: urlOf(), BRIDGE_TOKEN: ADMIN_TOKEN }
  const table = await runToEnd(['audit', '--action', 'webhook.disabled'], env)
  expect(table.code).toBe(0)
  const [header, row] = table.stdout.split('\n')
  expect(header).toMatch(/^TIME +ACTION +OUTCOME +BY +FROM +TARGET +TENANT +CHANGE$/)
  expect(row).toMatch(
    /webhook\.disabled +done +desk keys +192\.0\.2\.7 +ep_\S+ +desk +status: active → disabled, disabledReason: null → requested$/,
  )
  const json = await runToEnd(['audit', '--json', '--limit', '2', '--since', '2020-01-01'], env)
  expect(
    json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id),
  ).toHaveLength(2)
  const wrong = await runToEnd(['audit', '--action', 'token.creatd'], env)
  expect([wrong.code, wrong.stderr]).toEqual([expect.any(Number), expect.stringContaining('token.created')])
  const none = await runToEnd(['audit', '--until', '2020-01-01'], env)
  expect(none.stderr).toContain('no change is recorded')
})

test('entries survive a restart, and secrets that are put under another key are recorded too', async () => {
  await using receiver = await startReceiver()
  const { token } = await deskToken()
  const id = await endpoint(token, receiver.url)
  await entryOf('webhook.created', id)
  const before = await entries()
  await restartProduct({
    BRIDGE_SECRET_KEY: 'another-secret-key-0123456789-0123456789',
    BRIDGE_SECRET_KEY_OLD: SECRET_KEY,
  })
  const after = await eventually(
    () => entries(),
    ({ length }) => length > 0,
  )
  expect(after).toEqual(before)
  const { body } = await eventually(
    () => ask('POST', '/v1/webhooks/rewrap'),
    ({ status }) => status === 200,
  )
  expect(body.rewrapped).toBeGreaterThan(0)
  expect(await entryOf('webhook.secrets_re_encrypted')).toMatchObject({
    outcome: 'done',
    actor: { token: 'settings' },
    target: null,
    tenant: null,
    after: { endpoints: body.rewrapped },
  })
  expect((await ask('DELETE', `/v1/webhooks/${id}`, { token })).status).toBe(204)
})

test('the id that a client gives its request is kept, where it can be shown', async () => {
  for (const [sent, kept] of [
    ['4f1c-09', '4f1c-09'],
    ['two words', null],
    ['x'.repeat(129), null],
  ]) {
    const { id } = await deskToken()
    await ask('DELETE', `/v1/tokens/${id}`, { headers: { 'x-request-id': sent } })
    expect([sent, (await entryOf('token.deleted', id)).requestId]).toEqual([sent, kept])
  }
})
