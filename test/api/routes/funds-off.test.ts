import { expect, test } from 'vitest'
import { fundRoutes } from '../../../src/api/mirror/fund-routes.ts'
import { fundsOff } from '../../../src/api/routes/fund-gateway.ts'
import { knows } from '../../support/http/callers.ts'
import { openMount } from '../mirror/mirror-mount.ts'

const authenticate = knows({ reading: {} })

async function openBridge() {
  const base = await openMount(fundRoutes(fundsOff), authenticate)
  return async (path: string, key = 'reading') => {
    const response = await fetch(`${base}${path}`, { headers: { 'x-api-key': key } })
    return { status: response.status, body: await response.json() }
  }
}

test('the fund paths answer 503 with the name of the setting while the gateway is off', async () => {
  const get = await openBridge()
  for (const path of [
    '/nav',
    '/nav/XLON:ABC',
    '/dividends/ABC/history?dateFrom=2024',
    '/events/US0378331005',
  ]) {
    expect({ path, ...(await get(path)) }).toEqual({
      path,
      status: 503,
      body: {
        error: {
          message: expect.stringContaining('the gateway is off'),
          hint: expect.stringContaining('BRIDGE_GATEWAY_WEEKLY_UNITS'),
        },
      },
    })
  }
})

test('an unsafe identifier, a wrong parameter and a wrong key get their own errors all the same', async () => {
  const get = await openBridge()
  expect(await get('/nav/A%2FB')).toMatchObject({ status: 404 })
  expect(await get('/nav?pageNumber=1&sinceCursor=a')).toMatchObject({ status: 400 })
  const refused = await get('/nav/A%2FB?pageCursr=x')
  expect(refused).toMatchObject({ status: 404, body: { error: {} } })
  expect(refused.body).not.toHaveProperty('warnings')
  expect(await get('/nav', 'other')).toMatchObject({ status: 401 })
})
