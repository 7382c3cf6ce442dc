import { expect, test } from 'vitest'
import { eventsBetween } from '../../../src/archive/reading/query.ts'
import { readDisclosure } from '../../../src/core/disclosure.ts'
import { disclosureEvent, type NewEvent } from '../../../src/core/event.ts'
import { knownFcaCodes, knownNativeCodes } from '../../../src/core/filter/categories.ts'
import { presetNames } from '../../../src/core/filter/presets.ts'
import { gapAt, inPlace, START_MS } from '../../archive/samples.ts'
import { type ApiServer, startApi, TOKEN } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { EPOCH, REPLICA } from '../../support/store.ts'

const LEI = '213800TB53ELEUKM7Q61'
const OTHER_LEI = '549300NWJHUJEIY3Q241'

interface Sample {
  issuer?: object
  category?: object[]
}

let items = 0
/** An item as upstream sends it. */
function item({ issuer = { name: 'Alpha' }, category = [] }: Sample): NewEvent {
  items += 1
  const value = { guid: `guid-${items}`, timestamp: new Date(START_MS).toISOString(), issuer, category }
  const read = readDisclosure(value)
  if (!read.ok) throw new Error(read.reason)
  const data = JSON.stringify(value)
  return disclosureEvent(read.disclosure, { data, revision: 1, recordedMs: START_MS, late: false })
}

const company = (name: string | null, lei?: string, symbol?: string, isin?: string): Sample => ({
  issuer: { name, lei, instrument: { isin, symbol: { mnemonic: symbol } } },
})

/** Commits these events and shows them to readers. */
function commit({ store: { archive, recentEvents } }: ApiServer, events: readonly NewEvent[]): void {
  const before = archive.latest
  archive.append(inPlace(events, before + 1, EPOCH))
  recentEvents.push(eventsBetween(archive, before, archive.latest))
}

const categories = async (api: ApiServer) => (await ask(api, TOKEN, '/v1/categories')).body
const issuers = async (api: ApiServer, prefix: string) =>
  (await ask(api, TOKEN, `/v1/issuers?prefix=${encodeURIComponent(prefix)}`)).body.data

test('before the first event every known code is listed without a name, and the presets', async () => {
  await using api = await startApi()
  const { data, presets } = await categories(api)
  const nothing = { name: null, importance: null, seen: 0 }
  const listed = [
    ...[...knownFcaCodes].sort().map((code) => ({ kind: 'fca', code, ...nothing })),
    ...[...knownNativeCodes].sort().map((code) => ({ kind: 'native', code, ...nothing })),
  ]
  expect(data).toEqual(listed)
  expect(presets.map(({ name }: { name: string }) => name)).toEqual(presetNames)
  expect(presets[0]).toMatchObject({ keeps: 'without', meaning: expect.stringContaining('Leaves out') })
})

test('a code has the name and importance of its newest disclosure, and how many events have it', async () => {
  await using api = await startApi()
  const tag = (name: string, importance?: string) => ({ kind: 'FCA', code: 'FR', name, importance })
  commit(api, [
    item({ category: [tag('Final results', 'high'), { kind: 'Native', code: 'RE', name: 'Results' }] }),
    item({
      category: [tag('Final Results', 'ultra'), { kind: 'Other', code: 'RE', name: 'of another kind' }],
    }),
    item({ category: [{ kind: 'FCA', code: 'NEW1', name: 'unheard of' }] }),
    gapAt('g', START_MS),
  ])
  const { data } = await categories(api)
  const of = (code: string) => data.filter((one: { code: string }) => one.code === code)
  expect(of('FR')).toEqual([{ kind: 'fca', code: 'FR', name: 'Final Results', importance: 'ultra', seen: 2 }])
  expect(of('RE')).toEqual(
    [
      { kind: 'fca', code: 'RE', name: null, importance: null, seen: 0 },
      { kind: 'native', code: 'RE', name: 'Results', importance: null, seen: 1 },
    ].filter(({ kind }) => kind === 'native' || knownFcaCodes.includes('RE')),
  )
  expect(of('NEW1')).toEqual([{ kind: 'fca', code: 'NEW1', name: 'unheard of', importance: null, seen: 1 }])
  const codes = data
    .filter(({ kind }: { kind: string }) => kind === 'fca')
    .map(({ code }: { code: string }) => code)
  expect(codes).toEqual([...codes].sort())
})

test('an issuer is found by the beginning of its symbol, name, ISIN or LEI, in any case, once', async () => {
  await using api = await startApi()
  commit(api, [item(company('Vodafone Group Plc', LEI, 'VOD', 'GB00BH4HKS39'))])
  const found = { name: 'Vodafone Group Plc', symbol: 'VOD', isin: 'GB00BH4HKS39', lei: LEI }
  expect(await issuers(api, 'vod')).toEqual([{ ...found, matchedBy: 'symbol', matched: 'VOD' }])
  expect(await issuers(api, 'VODA')).toEqual([{ ...found, matchedBy: 'name', matched: 'vodafone group plc' }])
  expect(await issuers(api, 'gb00bh4')).toEqual([{ ...found, matchedBy: 'isin', matched: 'GB00BH4HKS39' }])
  expect(await issuers(api, '213800')).toEqual([{ ...found, matchedBy: 'lei', matched: LEI }])
  expect(await issuers(api, 'group')).toEqual([])
})

test('a former name finds the issuer as it is now, and two companies of one symbol are two', async () => {
  await using api = await startApi()
  commit(api, [
    item(company('Old Name', LEI, 'AAA')),
    item(company('New Name', LEI, 'BBB')),
    item(company('Another', OTHER_LEI, 'AAA')),
    item(company('nobody identified', undefined, undefined, undefined)),
  ])
  expect(await issuers(api, 'old')).toMatchObject([{ name: 'New Name', symbol: 'BBB', matched: 'old name' }])
  const both = await issuers(api, 'AAA')
  expect(both.map(({ name }: { name: string }) => name).sort()).toEqual(['Another', 'New Name'])
  expect(await issuers(api, 'nobody')).toMatchObject([{ name: 'nobody identified', lei: null }])
})

test('twenty issuers at most are listed, symbols before names, each from A to Z', async () => {
  await using api = await startApi()
  const many = Array.from({ length: 30 }, (_, index) =>
    item(company(`X company ${String(index).padStart(2, '0')}`)),
  )
  commit(api, [...many.toReversed(), item(company('Last', LEI, 'XYZ'))])
  const found = await issuers(api, 'x')
  expect(found).toHaveLength(20)
  const values = found.map(({ matched }: { matched: string }) => matched)
  expect(values.slice(0, 3)).toEqual(['XYZ', 'x company 00', 'x company 01'])
})

test('without a prefix the first of all are listed; one that is too long is refused', async () => {
  await using api = await startApi()
  commit(api, [item(company('B')), item(company('A'))])
  expect((await ask(api, TOKEN, '/v1/issuers')).body.data).toMatchObject([{ name: 'A' }, { name: 'B' }])
  const { status, body } = await ask(api, TOKEN, `/v1/issuers?prefix=${'x'.repeat(201)}`)
  expect([status, body.code, body.errors[0].field]).toEqual([400, 'parameter_invalid', 'prefix'])
})

test('texts that look like wildcards or SQL are plain text', async () => {
  await using api = await startApi()
  commit(api, [item(company("100% O'Neil_"))])
  expect(await issuers(api, "100% o'neil_")).toHaveLength(1)
  for (const prefix of ['%', '_', "' OR 1=1 --", '\u{10FFFF}', '*'])
    expect(await issuers(api, prefix)).toEqual([])
})

test('they need events:read, and a replica that is complete', async () => {
  await using api = await startApi({ count: 1 })
  const filling = { sequence: 1, goal: 2, share: 0.5 }
  await using filled = await startApi({ count: 1, replica: { ...REPLICA, filling } })
  const token = await tokenOf(api, 'desk', ['webhooks:read'])
  for (const path of ['/v1/categories', '/v1/issuers?prefix=a']) {
    expect([path, (await ask(api, token, path)).status]).toEqual([path, 403])
    expect([path, (await ask(filled, TOKEN, path)).status]).toEqual([path, 503])
  }
})
