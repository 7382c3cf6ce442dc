import { afterEach, expect, test } from 'vitest'
import { type Status, statusRoute } from '../../../src/api/routes/status.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { type Listener, listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { knows } from '../../support/http/callers.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { UNKNOWN_STATUS } from '../../support/unknown-status.ts'

const TOKEN = 'a token of the tests'
const headers = { authorization: `Bearer ${TOKEN}` }
const open: Listener[] = []

afterEach(async () => {
  for (const listener of open.splice(0)) await listener.close(0)
})

async function start(status: () => Status): Promise<string> {
  const { logger } = keepingLogger()
  const app = createApp({
    routes: [statusRoute(status, 'the secret key of the tests')],
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
  const url = await start(() => ({ ...UNKNOWN_STATUS, copy: { ...UNKNOWN_STATUS.copy, sequence: ++asked } }))
  expect(await (await fetch(url, { headers })).json()).toEqual({
    ...UNKNOWN_STATUS,
    copy: { ...UNKNOWN_STATUS.copy, sequence: 1 },
  })
  expect(await (await fetch(url, { headers })).json()).toMatchObject({ copy: { sequence: 2 } })
  const refused = await fetch(`${url}?verbose=1`, { headers })
  expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'parameter_invalid' }])
  expect((await fetch(url)).status).toBe(401)
})

test('the host name of the leader is shown to the operator only, and others see one name for one leader', async () => {
  let pid = 1
  const url = await start(() => ({
    ...UNKNOWN_STATUS,
    leader: { id: `host.internal:${pid}`, since: null, self: true },
  }))
  const idFor = async (token: string) => {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    return ((await answer.json()) as Status).leader.id
  }
  expect(await idFor(TOKEN)).toBe('host.internal:1')
  const shown = await idFor('other')
  expect(shown).toMatch(/^[0-9a-f]{12}$/)
  expect(await idFor('other')).toBe(shown)
  pid = 2
  expect(await idFor('other')).not.toBe(shown)
})

test('the status is open to every valid token, whatever its scopes', async () => {
  const url = await start(() => UNKNOWN_STATUS)
  expect((await fetch(url, { headers: { authorization: 'Bearer other' } })).status).toBe(200)
})
