import { expect, test } from 'vitest'
import { type DoctorAnswer, doctorRoute } from '../../../src/api/operations/doctor-route.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createLogger } from '../../../src/obs/logger.ts'
import { knows } from '../../support/http/callers.ts'

const FOUND: DoctorAnswer['data'] = [
  { level: 'warn', name: 'data', finding: 'data: 0.9 GB free', todo: 'free some space' },
]

/** What the route answers to a token. */
async function asked(token: string, doctor: (() => DoctorAnswer['data']) | null = () => FOUND) {
  const logger = createLogger({ level: 'silent', secrets: [] })
  const app = createApp({
    routes: [doctorRoute(doctor)],
    authenticate: adminAuthenticate('operator', knows({ tenant: { scopes: ['admin'] }, reader: {} })),
    corsOrigins: [],
    logger,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  try {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${listener.url}/v1/doctor`, { headers })
    return { status: response.status, body: (await response.json()) as DoctorAnswer }
  } finally {
    await listener.close(0)
  }
}

test('the operator gets every finding, with what to do', async () => {
  expect(await asked('operator')).toEqual({ status: 200, body: { data: FOUND, reason: null } })
})

test("a tenant's token learns nothing of the machine, and why", async () => {
  const { status, body } = await asked('tenant')
  expect([status, body.data]).toEqual([200, []])
  expect(body.reason).toContain('Only BRIDGE_ADMIN_TOKEN')
  expect((await asked('reader')).status).toBe(403)
})

test('a process without a doctor says so instead of saying that all is well', async () => {
  const { body } = await asked('operator', null)
  expect(body).toMatchObject({ data: [], reason: expect.stringContaining('run bridge doctor') })
})
