import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createResolver, holdAnswers } from '../../../src/webhooks/address/resolver.ts'
import { until } from '../../support/http/api-server.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const open: Socket[] = []
const A = 1
const AAAA = 28
const V6 = [0x26, 0x06, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x11]

afterEach(() => {
  for (const socket of open.splice(0)) socket.close()
})

/**
 * A name server with these records for every name: type and address bytes; null: no response for that type. `asked` gets the
 * type of each query.
 */
async function startNameServer(
  records: Partial<Record<number, readonly number[][] | null>>,
  asked: number[] = [],
): Promise<string> {
  const server = createSocket('udp4')
  open.push(server)
  server.on('message', (query, { port, address }) => {
    const type = query.readUInt16BE(query.indexOf(0, 12) + 1)
    asked.push(type)
    const known = records[type]
    if (known === null) return
    const answers = (known ?? []).map((bytes) => {
      const fixed = Buffer.alloc(12)
      fixed.writeUInt16BE(0xc00c, 0)
      fixed.writeUInt16BE(type, 2)
      fixed.writeUInt16BE(1, 4)
      fixed.writeUInt32BE(60, 6)
      fixed.writeUInt16BE(bytes.length, 10)
      return Buffer.concat([fixed, Buffer.from(bytes)])
    })
    const question = query.subarray(0, query.indexOf(0, 12) + 5)
    const reply = Buffer.concat([question, ...answers])
    reply.writeUInt16BE(answers.length === 0 && known === undefined ? 0x8183 : 0x8180, 2)
    reply.writeUInt16BE(answers.length, 6)
    reply.fill(0, 8, 12)
    server.send(reply, port, address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${server.address().port}`
}

test('the resolver looks up both address families of a name and lists IPv4 first', async () => {
  const server = await startNameServer({
    [A]: [
      [8, 8, 8, 8],
      [10, 0, 0, 1],
    ],
    [AAAA]: [V6],
  })
  expect(await createResolver(systemClock, [server])('hooks.example')).toEqual([
    '8.8.8.8',
    '10.0.0.1',
    '2606:4700::1111',
  ])
})

test('one address family is enough', async () => {
  const server = await startNameServer({ [A]: [[8, 8, 8, 8]] })
  expect(await createResolver(systemClock, [server])('hooks.example')).toEqual(['8.8.8.8'])
})

test.each([
  ['AAAA', { [A]: [[8, 8, 8, 8]], [AAAA]: null }, ['8.8.8.8']],
  ['A', { [A]: null, [AAAA]: [V6] }, ['2606:4700::1111']],
])(
  'a name server that drops the query for %s delays a delivery by 50 ms only',
  async (_, records, addresses) => {
    const asked: number[] = []
    const server = await startNameServer(records, asked)
    const clock = createManualClock()
    const answer = createResolver(clock, [server])('hooks.example')
    await until(() => clock.nextTimerMs() !== null)
    clock.advance(50)
    expect(await answer).toEqual(addresses)
    // The dropped query is repeated after 1.5 s: nobody has waited for that.
    expect(asked.sort((one, other) => one - other)).toEqual([A, AAAA])
  },
)

test('the error for a name that does not exist carries the code of Node’s DNS', async () => {
  const server = await startNameServer({})
  await expect(createResolver(systemClock, [server])('hooks.example')).rejects.toMatchObject({
    code: 'ENOTFOUND',
  })
})

test('concurrent lookups of a name share one query, whose response is cached for five seconds', async () => {
  const clock = createManualClock()
  const asked: string[] = []
  const resolve = holdAnswers(async (name) => {
    asked.push(name)
    return [`8.8.8.${asked.length}`]
  }, clock)
  expect(await Promise.all([resolve('a'), resolve('a'), resolve('b')])).toEqual([
    ['8.8.8.1'],
    ['8.8.8.1'],
    ['8.8.8.2'],
  ])
  clock.advance(4_999)
  expect(await resolve('a')).toEqual(['8.8.8.1'])
  clock.advance(1)
  expect(await resolve('a')).toEqual(['8.8.8.3'])
  expect(asked).toEqual(['a', 'b', 'a'])
})

test('setting the clock back does not extend the cache, and failures are not cached', async () => {
  const clock = createManualClock()
  let asked = 0
  const resolve = holdAnswers(async () => {
    asked++
    if (asked === 1) throw new Error('no')
    return ['8.8.8.8']
  }, clock)
  await expect(resolve('a')).rejects.toThrow('no')
  await resolve('a')
  clock.set(clock.now() - 60_000)
  await resolve('a')
  expect(asked).toBe(3)
})
