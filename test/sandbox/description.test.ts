import { expect, test } from 'vitest'
import { openSandbox } from './sandbox-client.ts'

interface Description {
  info: { version: string }
  servers: { url: string }[]
  paths: Record<
    string,
    { get: { security: object[]; parameters: { name: string }[]; responses: Record<string, unknown> } }
  >
}

test('the interface describes itself with its version, without a key or a unit, at both addresses', async () => {
  const { sandbox } = await openSandbox({ nativeWord: 'house' })
  const read = async (url: string) => (await (await fetch(url)).json()) as Description
  const below = await read(`${sandbox.url}/openapi.json`)
  expect(below).toEqual(await read(sandbox.url.replace(/\/v2$/, '/openapi.json')))
  expect(below).toMatchObject({ info: { version: '2.5.0' }, servers: [{ url: '/v2' }] })
  expect(Object.keys(below.paths)).toHaveLength(14)
  const open = Object.entries(below.paths).filter(([, { get }]) => get.security.length === 0)
  expect(open.map(([path]) => path)).toEqual([
    '/references/exchanges',
    '/references/exchanges/{mic}',
    '/openapi.json',
  ])
  // Of a bridge's token without the scope, and of a plan without fund data.
  for (const [path, { get }] of Object.entries(below.paths)) {
    expect([path, '403' in get.responses]).toEqual([path, get.security.length > 0])
  }
  const list = below.paths['/disclosures/sources/rns/items']?.get.parameters.map(({ name }) => name)
  expect(list).toEqual(expect.arrayContaining(['isins', 'houseCategories', 'sinceCursor', 'channel']))
  expect(sandbox.usage()).toMatchObject({ units: 0, unauthorised: 0, violations: 0 })
})
