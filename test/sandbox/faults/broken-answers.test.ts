import { describe, expect, test } from 'vitest'
import { faultKinds } from '../../../src/sandbox/faults/fault-kinds.ts'
import { namesInTable } from '../../support/house/page-rules.ts'
import { textFiles } from '../../support/house/repository.ts'
import { guids, openSandbox } from '../sandbox-client.ts'
import { watch, withItems } from './faulty-sandbox.ts'

const LIST = '/disclosures/sources/rns/items'

describe('responses without a list', () => {
  test('revoke-key: the response to a wrong key, costs no unit, and never on paths without a key', async () => {
    const { sandbox, get, list } = await openSandbox()
    const wrong = await get(LIST, { 'x-api-key': 'wrong' })
    sandbox.faults.add({ kind: 'revoke-key', count: 1 })
    expect((await get('/references/exchanges')).status).toBe(200)
    const revoked = await list()
    expect([revoked.status, revoked.body]).toEqual([401, wrong.body])
    expect(sandbox.usage()).toMatchObject({ units: 0, unauthorised: 1, faults: { 'revoke-key': 1 } })
    expect((await list()).status).toBe(200)
  })

  test.each([
    ['no-content', 204],
    ['redirect', 302],
    ['empty-body', 200],
  ] as const)('%s: status %i with an empty body', async (kind, status) => {
    const { sandbox } = await withItems()
    sandbox.faults.add({ kind })
    const response = await fetch(`${sandbox.url}${LIST}`, {
      headers: { 'x-api-key': sandbox.key },
      redirect: 'manual',
    })
    expect([response.status, await response.text()]).toEqual([status, ''])
  })
})

describe('responses that break in transit', () => {
  test.each(['reset-inside', 'wrong-length', 'broken-chunk'] as const)(
    '%s: part of the body, then a broken connection',
    async (kind) => {
      const opened = await withItems()
      opened.sandbox.faults.add({ kind })
      const broken = watch(opened)
      expect(await broken.ended).not.toBe('complete')
      expect((await opened.list()).status).toBe(200)
    },
  )

  test('wrong-length: the complete body, shorter than its Content-Length', async () => {
    const opened = await withItems()
    opened.sandbox.faults.add({ kind: 'wrong-length' })
    const short = watch(opened)
    expect(await short.ended).toBe('cut')
    expect(JSON.parse(short.text()).data).toHaveLength(10)
  })

  test('gzip-rubbish: labelled as gzip, but not compressed', async () => {
    const { sandbox } = await withItems()
    sandbox.faults.add({ kind: 'gzip-rubbish' })
    const response = await fetch(`${sandbox.url}${LIST}`, { headers: { 'x-api-key': sandbox.key } })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    await expect(response.text()).rejects.toThrow()
  })

  test('gzip-cut: compressed, but only half of it sent', async () => {
    const { sandbox } = await withItems()
    sandbox.faults.add({ kind: 'gzip-cut' })
    const response = await fetch(`${sandbox.url}${LIST}`, { headers: { 'x-api-key': sandbox.key } })
    const text = await response.text().catch(() => '')
    expect(() => JSON.parse(text)).toThrow()
  })
})

describe('wrong lists', () => {
  test('duplicate-items: every item twice', async () => {
    const { sandbox, list } = await withItems()
    const once = guids(await list())
    sandbox.faults.add({ kind: 'duplicate-items' })
    expect(guids(await list())).toEqual(once.flatMap((guid) => [guid, guid]))
  })

  test('warnings: a valid response with an extra warning beside those of the API', async () => {
    const { sandbox, list } = await withItems()
    sandbox.faults.add({ kind: 'warnings', count: 2, warning: 'slow today' })
    const both = await list('isin=GB01&isins=GB02')
    expect([both.body.warnings?.length, both.body.warnings?.at(-1)]).toEqual([2, 'slow today'])
    const plain = await list()
    expect([plain.body.data.length, plain.body.warnings]).toEqual([10, ['slow today']])
    sandbox.faults.add({ kind: 'warnings' })
    expect((await list()).body.warnings).toHaveLength(1)
  })

  test('no fault turns an API error into a response that looks valid', async () => {
    const { sandbox, list } = await withItems()
    for (const kind of ['null-data', 'duplicate-items', 'ignore-filters', 'warnings'] as const) {
      sandbox.faults.add({ kind, warning: 'x' })
      expect((await list('pageSize=0')).status).toBe(400)
    }
  })
})

test('the docs list every fault and no others', () => {
  const page = textFiles().find(({ path }) => path === 'docs/use/sandbox.md')?.text ?? ''
  expect(namesInTable(page, 'Faults').toSorted()).toEqual(faultKinds.toSorted())
})
