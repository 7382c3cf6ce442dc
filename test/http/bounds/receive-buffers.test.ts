import { expect, test } from 'vitest'
import { ReceiveBuffers } from '../../../src/http/bounds/receive-buffers.ts'

const of = (tokenId: string) => ({ tokenId, seesAllTenants: false })

test('what one token sends has a limit, and room again once it has ended', () => {
  const buffers = new ReceiveBuffers({ holderBytes: 20_000, allBytes: 50_000 })
  const [one, two] = [buffers.of(of('a')), buffers.of(of('a'))]
  expect([one.grow(10_000), one.grow(15_000), two.grow(5_000)]).toEqual([null, null, null])
  expect([two.grow(5_001), buffers.of(of('b')).grow(20_000)]).toEqual(['holder_full', null])
  one.end()
  one.end()
  expect([two.grow(20_000), one.grow(1)]).toEqual([null, 'holder_full'])
})

test('what all send has a limit, which the token of the settings may use up and small bodies do not', () => {
  const buffers = new ReceiveBuffers({ holderBytes: 20_000, allBytes: 50_000 })
  const settings = buffers.of({ tokenId: 'settings', seesAllTenants: true })
  expect(settings.grow(45_000)).toBeNull()
  const other = buffers.of(of('a'))
  expect([other.grow(4096), other.grow(5001)]).toEqual([null, 'full'])
  settings.end()
  expect(other.grow(20_000)).toBeNull()
})
