import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { LARGE_BUDGET_BYTES, SendBuffers } from '../../src/http/bounds/send-buffers.ts'
import { PageSender } from '../../src/http/page-sender.ts'

/** A server that answers each request with these pieces. */
async function serve(piecesOf: (path: string) => readonly Buffer[]) {
  const sendBuffers = new SendBuffers()
  const pages = new PageSender(sendBuffers)
  const answers: { response: ServerResponse; sent: Promise<void> }[] = []
  const server = createServer((request, response) => {
    answers.push({ response, sent: pages.send(response, piecesOf(request.url ?? '')) })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** Whether the node has room for a large answer. */
  const hasRoom = (): boolean => {
    const reservation = sendBuffers.reserve(LARGE_BUDGET_BYTES)
    reservation.end()
    return reservation.maxBytes === LARGE_BUDGET_BYTES
  }
  return { port, url: `http://127.0.0.1:${port}`, answers, hasRoom }
}

const text = (bytes: number, letter: string): Buffer => Buffer.from(`"${letter.repeat(bytes - 2)}"`)

test.each([
  ['nothing', []],
  ['less than a part', [text(100, 'a'), text(50, 'b')]],
  ['exactly a part', [text(65_536, 'a')]],
  ['a part and a byte', [text(65_536, 'a'), Buffer.from('b')]],
  ['exactly two parts in uneven pieces', [text(70_000, 'a'), text(61_072, 'b')]],
  ['many pieces of all sizes', Array.from({ length: 900 }, (_, at) => text(2 + at * 3, `${at % 10}`))],
])('%s comes whole, with its length', async (_what, pieces) => {
  const { url, hasRoom } = await serve(() => pieces)
  const response = await fetch(url)
  const body = Buffer.from(await response.arrayBuffer())
  expect(body.equals(Buffer.concat(pieces))).toBe(true)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-length': `${body.length}`,
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  })
  await expect.poll(hasRoom).toBe(true)
})

test('pages at the same time, and one after the other, never mix', async () => {
  const piecesOf = (path: string): Buffer[] => Array.from({ length: 50 }, () => text(9001, path.slice(1, 2)))
  const { url } = await serve(piecesOf)
  for (const letters of ['abcdefgh', 'ijklmnop']) {
    const bodies = await Promise.all(
      [...letters].map(async (letter) => Buffer.from(await (await fetch(`${url}/${letter}`)).arrayBuffer())),
    )
    for (const [at, letter] of [...letters].entries()) {
      expect(bodies[at]?.equals(Buffer.concat(piecesOf(`/${letter}`)))).toBe(true)
    }
  }
})

test('an answer to HEAD has the length and no body', async () => {
  const { url, answers } = await serve(() => [text(200_000, 'a')])
  const response = await fetch(url, { method: 'HEAD' })
  expect([response.status, response.headers.get('content-length')]).toEqual([200, '200000'])
  await answers[0]?.sent
})

test('a client that reads nothing holds its page until it goes, and what it got is not written over', async () => {
  const whole = Buffer.concat(Array.from({ length: 40 }, () => text(1024 * 1024, 'a')))
  const { port, url, answers, hasRoom } = await serve((path) => [path === '/a' ? whole : text(300_000, 'b')])
  const slow = connect(port, '127.0.0.1', () => slow.write('GET /a HTTP/1.1\r\nHost: x\r\n\r\n'))
  slow.pause()
  await expect.poll(() => answers.length).toBe(1)
  expect(hasRoom()).toBe(false)
  for (let count = 0; count < 20; count += 1) await (await fetch(`${url}/b`)).arrayBuffer()
  let received = Buffer.alloc(0)
  slow.on('data', (chunk) => {
    if (received.length < 10_000_000) received = Buffer.concat([received, chunk])
    else slow.destroy()
  })
  slow.resume()
  await answers[0]?.sent
  await expect.poll(hasRoom).toBe(true)
  const body = received.subarray(received.indexOf('\r\n\r\n') + 4)
  expect(body.equals(whole.subarray(0, body.length))).toBe(true)
})
