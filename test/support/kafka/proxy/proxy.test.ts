/** Tests the proxy before a broker that answers every request with its own body. On real brokers: test/integration. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePorts } from '../runtime/ports.ts'
import { apiKeys, correlationOf, createFrameSplitter, framed, requestFrame, requestHeader } from './frames.ts'
import { type KafkaProxy, startProxy } from './proxy.ts'

const CLIENT = 'c'
/** Length, header and client name stand before the body of a request; length and correlation id before a reply's. */
const REQUEST_HEAD_BYTES = 4 + 8 + 2 + CLIENT.length
const REPLY_HEAD_BYTES = 8

let answered: number[] = []
let brokerSockets: Socket[] = []
let proxy: KafkaProxy
let clients: Client[] = []

const broker = createServer({ noDelay: true }, (socket) => {
  brokerSockets.push(socket)
  const splitter = createFrameSplitter()
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => {
    for (const frame of splitter.push(chunk)) {
      const id = Buffer.alloc(4)
      id.writeInt32BE(requestHeader(frame).correlationId)
      answered.push(requestHeader(frame).correlationId)
      socket.write(framed(Buffer.concat([id, frame.subarray(REQUEST_HEAD_BYTES)])))
    }
  })
})

beforeEach(async () => {
  answered = []
  brokerSockets = []
  clients = []
  broker.listen(0, '127.0.0.1')
  await once(broker, 'listening')
  const [port = 0] = await freePorts(1)
  proxy = await startProxy({ port, brokerPort: (broker.address() as AddressInfo).port })
})
afterEach(async () => {
  for (const { socket } of clients) socket.destroy()
  await proxy.close()
  for (const socket of brokerSockets) socket.destroy()
  await once(broker.close(), 'close')
})

interface Client {
  socket: Socket
  closed: Promise<void>
  /** Sends a request; resolves with the body of its reply, rejects when the connection ends before. */
  ask(apiKey: number, correlationId: number, body?: string): Promise<string>
}

function connectClient(): Client {
  const [host, port] = proxy.address.split(':')
  const socket = connect({ host: host ?? '', port: Number(port), noDelay: true })
  const waiting = new Map<number, PromiseWithResolvers<string>>()
  const splitter = createFrameSplitter()
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  closed.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('closed'))
  })
  socket.on('data', (chunk: Buffer) => {
    for (const frame of splitter.push(chunk)) {
      waiting.get(correlationOf(frame))?.resolve(frame.toString('utf8', REPLY_HEAD_BYTES))
    }
  })
  const client: Client = {
    socket,
    closed,
    ask(apiKey, correlationId, body = '') {
      const reply = Promise.withResolvers<string>()
      waiting.set(correlationId, reply)
      socket.write(requestFrame({ apiKey, apiVersion: 0, correlationId }, CLIENT, Buffer.from(body)))
      return reply.promise
    },
  }
  clients.push(client)
  return client
}

test('without a rule every request and response passes unchanged', async () => {
  const { ask } = connectClient()
  let correlationId = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { minLength: 1, maxLength: 10 }), async (bodies) => {
      const replies = bodies.map((body) => ask(apiKeys.produce, ++correlationId, body))
      expect(await Promise.all(replies)).toEqual(bodies)
    }),
    { numRuns: 30 },
  )
  expect(proxy.seen(apiKeys.produce)).toBe(correlationId)
  expect(proxy.seen(apiKeys.endTxn)).toBe(0)
})

test('requests of one API are held while later ones pass, and are sent on in their order', async () => {
  const { ask } = connectClient()
  const hold = proxy.hold(apiKeys.endTxn)
  const held = [ask(apiKeys.endTxn, 1, 'first'), ask(apiKeys.endTxn, 2, 'second')]
  await hold.caught(2)
  await ask(apiKeys.produce, 3)
  expect(answered).toEqual([3])
  expect(hold.release()).toBe(2)
  expect(await Promise.all(held)).toEqual(['first', 'second'])
  await ask(apiKeys.endTxn, 4)
  expect(answered).toEqual([3, 1, 2, 4])
})

test('a held request reaches the broker although its client has disconnected, and the broker connection ends after it', async () => {
  const { ask } = connectClient()
  const hold = proxy.hold(apiKeys.endTxn)
  const lost = ask(apiKeys.endTxn, 1)
  await hold.caught()
  proxy.cut()
  await expect(lost).rejects.toThrow('closed')
  const [socket] = brokerSockets
  const gone = socket && once(socket, 'close')
  expect(hold.release()).toBe(1)
  await gone
  expect(answered).toEqual([1])
})

test('held requests are reported as not delivered when the broker stops', async () => {
  const { ask, socket } = connectClient()
  const hold = proxy.hold(apiKeys.endTxn)
  const lost = ask(apiKeys.endTxn, 1)
  await hold.caught()
  for (const brokerSocket of brokerSockets) brokerSocket.destroy()
  await expect(lost).rejects.toThrow('closed')
  expect(socket.destroyed).toBe(true)
  expect(hold.release()).toBe(0)
})

test('responses of one API are dropped after the broker has worked, until the rule is lifted', async () => {
  const { ask } = connectClient()
  const drop = proxy.dropReplies(apiKeys.endTxn)
  let replied = false
  ask(apiKeys.endTxn, 1).then(
    () => {
      replied = true
    },
    () => undefined,
  )
  await drop.caught()
  await ask(apiKeys.produce, 2)
  expect(answered).toEqual([1, 2])
  drop.lift()
  await ask(apiKeys.endTxn, 3)
  expect(replied).toBe(false)
})

test('a response to a disconnected client matches no rule', async () => {
  const hold = proxy.hold(apiKeys.endTxn)
  const lost = connectClient().ask(apiKeys.endTxn, 1)
  await hold.caught()
  proxy.cut()
  await expect(lost).rejects.toThrow('closed')
  const [socket] = brokerSockets
  const gone = socket && once(socket, 'close')
  const drop = proxy.dropReplies(apiKeys.endTxn)
  let caught = false
  const catching = drop.caught().then(() => {
    caught = true
  })
  hold.release()
  await gone
  expect({ answered, caught }).toEqual({ answered: [1], caught: false })
  connectClient()
    .ask(apiKeys.endTxn, 2)
    .catch(() => undefined)
  await catching
})

test('ends of transactions on one connection are told apart by the topics added to them', async () => {
  const { ask } = connectClient()
  const added = (topic: string): string => `\0${String.fromCharCode(topic.length)}${topic}`
  const aim = { touching: 'p.all' }
  const hold = proxy.hold(apiKeys.endTxn, aim)
  await ask(apiKeys.addPartitionsToTxn, 1, added('p.allowed'))
  await ask(apiKeys.endTxn, 2)
  await ask(apiKeys.addPartitionsToTxn, 3, added('p.state'))
  await ask(apiKeys.addPartitionsToTxn, 4, added('p.all'))
  const held = ask(apiKeys.endTxn, 5)
  await hold.caught()
  hold.release()
  await held
  expect(answered).toEqual([1, 2, 3, 4, 5])
  const drop = proxy.dropReplies(apiKeys.endTxn, aim)
  await ask(apiKeys.endTxn, 6)
  await ask(apiKeys.addPartitionsToTxn, 7, added('p.all'))
  ask(apiKeys.endTxn, 8).catch(() => undefined)
  await drop.caught()
  expect(answered).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})

test('a delay keeps every frame that long, in both directions, and keeps their order', async () => {
  const { ask } = connectClient()
  const delay = proxy.delay(30)
  const before = performance.now()
  const replies = [1, 2, 3].map((id) => ask(apiKeys.produce, id, String(id)))
  expect(await Promise.all(replies)).toEqual(['1', '2', '3'])
  // A timer may fire a millisecond early.
  expect(performance.now() - before).toBeGreaterThanOrEqual(2 * 29)
  expect(answered).toEqual([1, 2, 3])
  await delay.caught(6)
})

test('a black hole drops both directions in silence; data sent meanwhile passes when it is lifted', async () => {
  const { ask } = connectClient()
  await ask(apiKeys.metadata, 1)
  const hole = proxy.blackHole()
  const reply = ask(apiKeys.metadata, 2, 'late')
  await hole.caught()
  expect(answered).toEqual([1])
  hole.lift()
  expect(await reply).toBe('late')
})

test('cut resets the current connections, refuse resets new ones', async () => {
  const { ask, closed } = connectClient()
  await ask(apiKeys.metadata, 1)
  const refusal = proxy.refuse()
  proxy.cut()
  await closed
  const turnedAway = connectClient()
  await expect(turnedAway.ask(apiKeys.metadata, 2)).rejects.toThrow('closed')
  await refusal.caught()
  refusal.lift()
  await expect(connectClient().ask(apiKeys.metadata, 3, 'back')).resolves.toBe('back')
  expect(answered).toEqual([1, 3])
})

test('a client with another protocol is cut off, and closing the proxy reports it', async () => {
  const { socket, closed } = connectClient()
  socket.write('GET / HTTP/1.1\r\n\r\n')
  await closed
  await expect(proxy.close()).rejects.toThrow('not Kafka')
})
