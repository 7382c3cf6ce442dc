import { expect, test } from 'vitest'
import { createExchanges } from '../../../src/sandbox/market/exchanges.ts'
import { openSandbox } from '../sandbox-client.ts'

interface Detail {
  mic: string
  segments: { mic: string; name: string | null; status: string | null }[]
  [member: string]: unknown
}

const exchanges = createExchanges()
const details = await Promise.all(
  (await exchanges.list()).map(async ({ mic }) => JSON.parse((await exchanges.detail(mic)) ?? '') as Detail),
)

test('the list has twenty to sixty exchanges, sorted by MIC, with every status of the registry', () => {
  const mics = details.map(({ mic }) => mic)
  expect(mics.length).toBeGreaterThanOrEqual(20)
  expect(mics.length).toBeLessThanOrEqual(60)
  expect(mics).toEqual([...new Set(mics)].sort())
  expect(new Set(details.map(({ status }) => status))).toEqual(new Set(['ACTIVE', 'UPDATED', 'EXPIRED']))
})

test('each entry and segment has the members of the specification, null where the registry has no value', () => {
  const day = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)
  for (const detail of details) {
    expect(Object.keys(detail)).toEqual([
      ...['mic', 'name', 'abbreviation', 'country', 'city', 'status', 'website'],
      ...['creationDate', 'lastUpdateDate', 'expiryDate', 'comments', 'segments', '_links'],
    ])
    expect(detail).toMatchObject({
      mic: expect.stringMatching(/^[A-Z0-9]{4}$/),
      country: expect.stringMatching(/^[A-Z]{2}$/),
      creationDate: day,
      lastUpdateDate: day,
      expiryDate: detail.status === 'EXPIRED' ? day : null,
      _links: { self: `/v2/references/exchanges/${detail.mic}` },
    })
    for (const value of Object.values(detail)) expect(value).not.toBe('')
    for (const segment of detail.segments) {
      expect(segment).toEqual({
        mic: expect.stringMatching(/^[A-Z0-9]{4}$/),
        name: expect.any(String),
        status: expect.stringMatching(/^(ACTIVE|UPDATED|EXPIRED)$/),
      })
    }
  }
})

test('London has its three active segments and the expired one', () => {
  const london = details.find(({ mic }) => mic === 'XLON')
  expect(london).toMatchObject({
    name: 'LONDON STOCK EXCHANGE',
    abbreviation: 'LSE',
    country: 'GB',
    comments: null,
  })
  expect(london?.segments.map(({ mic, status }) => `${mic} ${status}`)).toEqual([
    'AIMX ACTIVE',
    'XLOD EXPIRED',
    'XLOM ACTIVE',
    'XPVT ACTIVE',
  ])
})

test('references ignore the key and cost neither quota nor rate limit', async () => {
  const { sandbox, get, list } = await openSandbox({ weeklyQuota: 1, burst: 1, ratePerSecond: 0.001 })
  for (const headers of [{}, { 'x-api-key': 'wrong' }, { 'x-api-key': '' }]) {
    expect((await get('/references/exchanges?pageSize=2', headers)).status).toBe(200)
    expect((await get('/references/exchanges/XLON', headers)).status).toBe(200)
  }
  expect((await fetch(`${sandbox.url}/references/exchanges/XLON`)).status).toBe(200)
  expect(sandbox.usage()).toMatchObject({ requests: 7, units: 0, throttled: 0, unauthorised: 0 })
  expect((await list()).status).toBe(200)
  expect((await list()).status).toBe(429)
  expect((await get('/references/exchanges')).status).toBe(200)
})

test('faults apply to references too, without refunding a unit that was never spent', async () => {
  const { sandbox, get, list } = await openSandbox()
  await list()
  sandbox.faults.add({ kind: 'quota-429', path: '/references/', retryAfter: '7' })
  const refused = await get('/references/exchanges')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
  expect(sandbox.usage()).toMatchObject({ units: 1, faults: { 'quota-429': 1 } })
  sandbox.faults.add({ kind: 'truncate', path: '/XLON' })
  await expect(get('/references/exchanges/XLON')).rejects.toThrow(SyntaxError)
})

test('every kind of path ignores unknown parameters without a warning', async () => {
  const { sandbox, list, get } = await openSandbox({ plan: 'advanced', backlog: 3 })
  const { guid } = (await list()).body.data[0] ?? {}
  const bodies = [
    (await list('x=1')).body,
    (await get(`/disclosures/sources/rns/items/${guid}?x=1`)).body,
    (await get('/nav?x=1')).body,
    await (await fetch(`${sandbox.url}/references/exchanges?x=1`)).json(),
    await (await fetch(`${sandbox.url}/references/exchanges/XLON?x=1`)).json(),
  ]
  for (const body of bodies) {
    expect(body).toHaveProperty('data')
    expect(body).not.toHaveProperty('warnings')
  }
})
