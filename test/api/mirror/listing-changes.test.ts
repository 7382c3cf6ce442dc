import { expect, test } from 'vitest'
import { guids, type Item, item } from '../../sandbox/sandbox-client.ts'
import { openCopy } from '../routes/replica-server.ts'
import { NOW_MS, openMirror } from './mirror-server.ts'

const OLD = 'GB0000000001'
const NEW = 'GB0000000019'
const SIBLING = 'GB0000000027'
const FOREIGN = 'GB0000000035'

/** An item of that name at a second of the day before, with the issuer's name, LEI, ISIN and symbol. */
function tagged(
  guid: string,
  second: number,
  [name, lei, isin, symbol]: [string, string | null, string?, string?],
): Item {
  return item(guid, new Date(NOW_MS - 86_400_000 + second * 1000).toISOString(), {
    issuer: {
      name,
      ...(lei === null ? {} : { lei }),
      ...(isin === undefined
        ? {}
        : { instrument: { isin, ...(symbol === undefined ? {} : { symbol: { mnemonic: symbol } }) } }),
    },
  })
}

const world = [
  tagged('first', 1, ['Harrow PLC', 'LEIA', OLD, 'HRW']),
  tagged('sibling', 2, ['Harrow PLC', 'LEIA', SIBLING, 'HRWB']),
  tagged('untagged', 3, ['Harrow PLC', 'LEIA']),
  tagged('renamed', 4, ['Tarn PLC', 'LEIA', OLD, 'TARN']),
  tagged('reissued', 5, ['Tarn PLC', 'LEIA', NEW, 'TARN']),
  tagged('without symbol', 6, ['Tarn PLC', 'LEIA', NEW]),
  tagged('reused', 7, ['Harbour Row Ltd', 'LEIB', FOREIGN, 'HRW']),
  tagged('no lei, first', 8, ['Selwyn Ltd', null, 'JE0000000041', 'SEL']),
  tagged('no lei, reissued', 9, ['Selwyn Ltd', null, 'JE0000000058', 'SEL']),
  tagged('no lei, renamed', 10, ['Pendle Ltd', null, 'JE0000000058', 'PEN']),
]
const LISTING = ['without symbol', 'reissued', 'renamed', 'first']
const WITHOUT_LEI = ['no lei, renamed', 'no lei, reissued', 'no lei, first']

test.each([
  ['the sandbox', () => openMirror()],
  ['the bridge', () => openCopy(NOW_MS)],
] as const)(
  '%s: exact follows a listing through a new name and a new ISIN, from any of its tags',
  async (_, open) => {
    const { list, publish } = await open()
    publish(world)
    const exact = async (query: Record<string, string>) => guids(await list({ ...query, match: 'exact' }))
    for (const isin of [OLD, NEW]) expect([isin, await exact({ isins: isin })]).toEqual([isin, LISTING])
    expect(await exact({ symbols: 'TARN' })).toEqual(LISTING)
    expect(await exact({ symbols: 'HRWB' })).toEqual(['sibling'])
    for (const symbol of ['SEL', 'PEN']) expect(await exact({ symbols: symbol })).toEqual(WITHOUT_LEI)
    for (const isin of ['JE0000000041', 'JE0000000058'])
      expect(await exact({ isins: isin })).toEqual(WITHOUT_LEI)
    expect(await exact({ isins: OLD, symbols: 'TARN' })).toEqual(LISTING)
    expect(await exact({ isins: SIBLING, symbols: 'TARN' })).toEqual([])
    expect(await exact({ isins: 'GB0000000092' })).toEqual([])
  },
)

test.each([
  ['the sandbox', () => openMirror()],
  ['the bridge', () => openCopy(NOW_MS)],
] as const)('%s: a symbol that another issuer reuses does not join the two listings', async (_, open) => {
  const { list, publish } = await open()
  publish(world)
  const exact = async (query: Record<string, string>) => guids(await list({ ...query, match: 'exact' }))
  expect(await exact({ isins: FOREIGN })).toEqual(['reused'])
  expect(await exact({ symbols: 'TARN' })).not.toContain('reused')
  expect(await exact({ symbols: 'HRW' })).toEqual(['reused', ...LISTING])
})
