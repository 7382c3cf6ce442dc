import { afterEach, expect, test } from 'vitest'
import { type Status, statusRoute } from '../../../src/api/routes/status.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { type Listener, listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { knows } from '../../support/http/callers.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const TOKEN = 'a token of the tests'
const headers = { authorization: `Bearer ${TOKEN}` }
const open: Listener[] = []

afterEach(async () => {
  for (const listener of open.splice(0)) await listener.close(0)
})

async function start(status: () => Status): Promise<string> {
  const { logger } = keepingLogger()
  const app = createApp({
    routes: [statusRoute(status)],
    authenticate: adminAuthenticate(TOKEN, knows({ other: { scopes: ['webhooks:read'] } })),
    corsOrigins: [],
    logger,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  open.push(listener)
  return `${listener.url}/v1/status`
}

test('the status is current at each call, and accepts no parameters', async () => {
  let asked = 0
  const url = await start(() => ({ ...unknown, copy: { ...unknown.copy, sequence: ++asked } }))
  expect(await (await fetch(url, { headers })).json()).toEqual({
    ...unknown,
    copy: { ...unknown.copy, sequence: 1 },
  })
  expect(await (await fetch(url, { headers })).json()).toMatchObject({ copy: { sequence: 2 } })
  const refused = await fetch(`${url}?verbose=1`, { headers })
  expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'parameter_invalid' }])
  expect((await fetch(url)).status).toBe(401)
})

test('the status is open to every valid token, whatever its scopes', async () => {
  const url = await start(() => unknown)
  expect((await fetch(url, { headers: { authorization: 'Bearer other' } })).status).toBe(200)
})

const unknown: Status = {
  leader: { id: null, since: null, self: false },
  upstream: { state: null, lastGoodPoll: null, nextPoll: null, phase: 'closed' },
  quota: { limit: null, used: null, remaining: null, reset: null, forecast: null, drift: null },
  log: { kind: 'embedded', epoch: null, oldest: 1, latest: 0 },
  copy: { sequence: 0, lagEvents: 0, lagSeconds: 0, filled: 1 },
  completeness: null,
  unreconciled: null,
  gaps: null,
  roles: ['api'],
  asOf: null,
}
