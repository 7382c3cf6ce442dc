import { type IncomingMessage, request } from 'node:http'
import { expect, test } from 'vitest'
import { guids, item, openSandbox } from './sandbox-client.ts'

test('the admin port returns the published items, the usage and the scenario', async () => {
  const { admin, list, clock } = await openSandbox({
    scenario: 'morning-short',
    seed: 9,
    plan: 'lite',
    weeklyQuota: 10,
  })
  await list()
  clock.advance(60_000)
  const truth: { items: object[]; backlog: object[]; malformed: object[] } = (await admin('GET', '/truth'))
    .body
  expect([truth.items.length, truth.backlog.length, truth.malformed.length]).toEqual([760, 120, 0])
  expect(truth.items[0]).toEqual({
    guid: expect.stringMatching(/^urn:newsml:/),
    revision: 1,
    timestamp: '2026-02-03T07:00:01Z',
    insertedAt: '2026-02-03T07:00:01.000Z',
    contentHash: expect.stringMatching(/^[0-9a-f]{32}$/),
    vanishedAt: null,
  })
  expect((await admin('GET', '/usage')).body).toMatchObject({
    requests: 1,
    units: 1,
    throttled: 0,
    violations: 0,
  })
  expect((await admin('GET', '/scenario')).body).toEqual({
    name: 'morning-short',
    meaning: expect.any(String),
    seed: 9,
    speed: 1,
    plan: 'lite',
    limits: { weeklyQuota: 10, ratePerSecond: 1_000_000, burst: 1_000_000 },
    marketTime: '2026-02-03T07:10:35.000Z',
    finished: true,
  })
})

test('the admin port publishes posted items at once, as an object or as a list', async () => {
  const { admin, list } = await openSandbox({ backlog: 0 })
  const one = item('one', '2026-02-03T11:00:00Z')
  expect((await admin('POST', '/items', { items: [one, { headline: 'no guid' }] })).body).toEqual({
    published: 1,
    amended: 0,
    unchanged: 0,
    malformed: 1,
  })
  await admin('POST', '/items', [{ ...one, headline: 'Other' }])
  const { body } = await list()
  expect(body.data).toEqual([{ headline: 'no guid' }, { ...one, headline: 'Other' }])
})

test('the admin port advances the clock and returns the market time', async () => {
  const { admin, list } = await openSandbox({ scenario: 'quiet', backlog: 0 })
  const moved = await admin('POST', '/clock', { advanceMs: 600_000 })
  expect(moved.body).toMatchObject({ marketTime: '2026-02-03T12:10:00.000Z', finished: true })
  expect(guids(await list())).toHaveLength(6)
})

test('the admin port rejects an invalid request and explains what to send', async () => {
  const { admin } = await openSandbox()
  const asked = [
    ['POST', '/clock', { advanceMs: -1 }, 400, 'advanceMs'],
    ['POST', '/clock', { advanceMs: 1e12 }, 400, 'advanceMs'],
    ['POST', '/clock', undefined, 400, '{"advanceMs":60000}'],
    ['POST', '/items', { item: {} }, 400, '{"items":[…]}'],
    ['POST', '/items', '{"items":[', 400, 'JSON'],
    ['POST', '/truth', undefined, 405, '/truth takes GET'],
    ['GET', '/clock', undefined, 405, '/clock takes POST'],
    ['GET', '/', undefined, 404, 'GET /truth'],
    ['DELETE', '/faults/%E0%A4%A', undefined, 400, 'decode'],
  ] as const
  for (const [method, path, body, status, part] of asked) {
    const answer = await admin(method, path, body)
    expect({ path, status: answer.status, body: JSON.stringify(answer.body).replaceAll('\\"', '"') }).toEqual(
      {
        path,
        status,
        body: expect.stringContaining(part),
      },
    )
  }
})

/** The status of a raw request to the admin port, as a browser could be made to send it. */
async function statusOf(
  adminUrl: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body = '',
) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${adminUrl}${path}`, { method, headers }, resolve).on('error', reject).end(body)
  })
  response.resume()
  return response.statusCode
}

test('a web page can neither arm a fault nor read the truth', async () => {
  const { sandbox } = await openSandbox()
  const { adminUrl } = sandbox
  const { host } = new URL(adminUrl)
  const evil = { origin: 'https://evil.example' }
  const fault = '{"kind":"revoke-key"}'
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/plain;application/json'])
    expect(await statusOf(adminUrl, 'POST', '/faults', { ...evil, host, 'content-type': type }, fault)).toBe(
      415,
    )
  for (const name of ['evil.example', 'evil.example:80', '127.0.0.1.evil.example', '10.0.0.1', 'sandbox'])
    expect(await statusOf(adminUrl, 'GET', '/truth', { host: name }), name).toBe(403)
  expect(await (await fetch(`${adminUrl}/faults`)).json()).toEqual({ faults: [] })
  const { port } = new URL(adminUrl)
  for (const name of ['localhost', '127.0.0.2', `[::1]:${port}`, host])
    expect(await statusOf(adminUrl, 'GET', '/usage', { host: name }), name).toBe(200)
})

test('a sandbox for a container network takes its name there and addresses, and no name of the world', async () => {
  const { sandbox } = await openSandbox({ host: '0.0.0.0' })
  const statuses = ['sandbox:8091', '10.0.0.7', 'localhost', 'evil.example'].map((host) =>
    statusOf(sandbox.adminUrl, 'GET', '/usage', { host }),
  )
  expect(await Promise.all(statuses)).toEqual([200, 200, 200, 403])
})

test('a fault whose kind is an object without a primitive form is refused', async () => {
  const { admin } = await openSandbox()
  expect((await admin('POST', '/faults', '{"kind":{"toString":1,"valueOf":1}}')).status).toBe(400)
})
