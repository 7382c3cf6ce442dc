import { expect, test } from 'vitest'
import { parseNet } from '../../../src/core/ip.ts'
import { addressText, clientAddress, createAddressReader } from '../../../src/http/bounds/remote-address.ts'

/** The key under which the streams of that address are counted; null where they are not. */
function addressKey(remoteAddress: string | undefined): string | null {
  const address = clientAddress({ socket: { remoteAddress }, headers: {} }, [])
  return address === null || address.isOwn ? null : address.key
}

test.each([
  ['one IPv4 address, mapped into IPv6 or not', '5.6.7.8', '::ffff:5.6.7.8', true],
  ['two IPv4 addresses', '5.6.7.8', '5.6.7.9', false],
  ['two IPv6 addresses of one /64', '2a02:26f7:1:2::1', '2a02:26f7:1:2:ffff::9', true],
  ['one IPv6 address in two spellings', '2a02:26f7:1:2::1', '2A02:26F7:0001:0002:0:0:0:1', true],
  ['two /64', '2a02:26f7:1:2::1', '2a02:26f7:1:3::1', false],
])('%s: %s and %s counting as one is %j', (_what, one, other, together) => {
  expect(addressKey(one)).not.toBeNull()
  expect(addressKey(one) === addressKey(other)).toBe(together)
})

test.each([
  ['127.0.0.1'],
  ['::1'],
  ['::ffff:127.0.0.1'],
  ['10.1.2.3'],
  ['172.16.0.1'],
  ['172.31.255.255'],
  ['192.168.0.1'],
  ['::ffff:192.168.0.1'],
  ['100.64.0.1'],
  ['169.254.1.1'],
  ['fd00::1'],
  ['fe80::1'],
  ['fe80::1%eth0'],
  [''],
  [undefined],
])('%s is not counted', (address) => {
  expect(addressKey(address)).toBeNull()
})

test('addresses outside the networks of the operator are counted', () => {
  for (const address of ['11.0.0.1', '172.32.0.1', '172.15.0.1', '192.169.0.1', '100.128.0.1', '126.0.0.1']) {
    expect(addressKey(address)).not.toBeNull()
  }
})

const proxies = ['10.0.0.0/8', '127.0.0.1/32'].map(parseNet)

test.each([
  ['no proxy: the header of a client is not believed', '5.6.7.8', '1.2.3.4', '5.6.7.8'],
  ['one proxy', '10.0.0.1', '5.6.7.8', '5.6.7.8'],
  ['what a client wrote before its proxy did', '10.0.0.1', '1.2.3.4, 5.6.7.8', '5.6.7.8'],
  ['two proxies', '::ffff:127.0.0.1', '1.2.3.4, 5.6.7.8, 10.0.0.2', '5.6.7.8'],
  ['a proxy that writes ports', '10.0.0.1', '5.6.7.8:4711', '5.6.7.8'],
  ['a proxy that writes ports of IPv6', '10.0.0.1', '[2a02:26f7:1:2::1]:4711', '2a02:26f7:1:2::1'],
  ['a proxy that writes nothing', '10.0.0.1', undefined, '10.0.0.1'],
  ['a proxy that hides its client', '10.0.0.1', 'unknown', '10.0.0.1'],
  ['nothing but proxies', '10.0.0.1', '10.0.0.3', '10.0.0.3'],
])('the client behind %s', (_what, remoteAddress, forwarded, client) => {
  const request = { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }
  expect(clientAddress(request, proxies)).toEqual(
    clientAddress({ socket: { remoteAddress: client }, headers: {} }, []),
  )
})

test('an address that cannot be read is no address', () => {
  for (const remoteAddress of ['', 'here', undefined]) {
    expect(
      clientAddress({ socket: { remoteAddress }, headers: { 'x-forwarded-for': '1.2.3.4' } }, proxies),
    ).toBeNull()
  }
})

test('the address that was read last is read from the request only, and another one never taken for it', () => {
  const request = (remoteAddress: string | undefined, forwarded?: string) => ({
    socket: { remoteAddress },
    headers: { 'x-forwarded-for': forwarded },
  })
  const requests = [
    request('192.0.2.1', '5.6.7.8'),
    request('192.0.2.1', '5.6.7.8'),
    request('192.0.2.1', '5.6.7.9'),
    request('192.0.2.1'),
    request('192.0.2.2', '5.6.7.8'),
    request(undefined, '5.6.7.8'),
    request('192.0.2.1', '5.6.7.8'),
  ]
  for (const trusted of [[], [parseNet('192.0.2.1/32')]]) {
    const addressOf = createAddressReader(trusted)
    expect(requests.map(addressOf)).toEqual(requests.map((one) => clientAddress(one, trusted)))
    const [first, second] = requests
    expect(first && second && addressOf(first) === addressOf(second)).toBe(true)
  }
})

test.each([
  ['5.6.7.8', '5.6.7.8'],
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['2A02:26F7:0001:0002:0:0:0:1', '2a02:26f7:1:2::/64'],
  ['2a02:26f7::1', '2a02:26f7::/64'],
  ['2a02:26f7:0:10::1', '2a02:26f7:0:10::/64'],
  ['::1', '::/64'],
])('%s is shown as %s', (address, shown) => {
  const key = clientAddress({ socket: { remoteAddress: address }, headers: {} }, [])?.key ?? ''
  expect(addressText(key)).toBe(shown)
})

test('an address that cannot be read is shown as none', () => {
  expect(addressText('')).toBeNull()
})
