import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/http/listener.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { collectRaw, raw } from './raw.ts'

/** A listener whose requests the test answers. */
async function start() {
  const asked: { url: string | undefined; response: ServerResponse }[] = []
  const refused: string[] = []
  const listener = await listen((request, response) => asked.push({ url: request.url, response }), {
    ...{ host: '127.0.0.1', port: 0, setting: 'X', clock: createManualClock() },
    logger: keepingLogger().logger,
    onRefused: (cause) => refused.push(cause),
  })
  onTestFinished(() => listener.close(0))
  return { asked, refused, listener }
}

function requests(count: number): string {
  return Array.from({ length: count }, (_, at) => `GET /${at + 1} HTTP/1.1\r\nHost: x\r\n\r\n`).join('')
}

test('requests that a client pipelines are handled one after the other, each when the answer before it is out', async () => {
  const { asked, refused, listener } = await start()
  const client = collectRaw(listener.port, requests(5))
  for (let count = 1; count <= 5; count += 1) {
    await until(() => asked.length === count)
    // A request to another connection goes through the whole event loop meanwhile.
    const other = raw(listener.port, 'GET /other HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => asked.length === count + 1)
    expect(asked.map(({ url }) => url)).toEqual([
      ...Array.from({ length: count }, (_, at) => `/${at + 1}`),
      '/other',
    ])
    asked.pop()?.response.end('other')
    await other
    asked.at(-1)?.response.end(`answer ${count}.`)
  }
  await until(() => client.text.endsWith('answer 5.'))
  expect(client.text.match(/answer \d/g)).toEqual([
    'answer 1',
    'answer 2',
    'answer 3',
    'answer 4',
    'answer 5',
  ])
  expect(refused).toEqual([])
})

test('a client that pipelines more than a few gets the end of its connection', async () => {
  const { asked, refused, listener } = await start()
  const client = collectRaw(listener.port, requests(2000))
  await until(() => client.isOver)
  expect(asked.map(({ url }) => url)).toEqual(['/1'])
  await until(() => asked[0]?.response.destroyed === true)
  expect(refused).toEqual(['pipelined'])
  expect(client.text).toBe('')
})

test('answers that are out make room for further requests on a connection', async () => {
  const { asked, refused, listener } = await start()
  const client = collectRaw(listener.port, requests(3))
  const more = connect(listener.port, '127.0.0.1')
  onTestFinished(() => void more.destroy())
  for (let count = 0; count < 3; count += 1) {
    await until(() => asked.length === count + 1)
    asked.at(-1)?.response.end('x')
  }
  await until(() => client.text.split('200 OK').length === 4)
  let answered = 0
  more.on('data', (chunk) => {
    answered += chunk.toString().split('200 OK').length - 1
  })
  for (let round = 1; round <= 10; round += 1) {
    more.write(requests(3))
    for (let count = 0; count < 3; count += 1) {
      const before = asked.length
      await until(() => asked.length === before + 1 || asked.at(-1)?.response.writableEnded === false)
      asked.at(-1)?.response.end('x')
    }
    await until(() => answered === round * 3)
  }
  expect(refused).toEqual([])
})

test.each([
  ['two headers Host', 'GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n'],
  ['two headers Host in HTTP/1.0', 'GET / HTTP/1.0\r\nHost: x\r\nhost: y\r\n\r\n'],
  ['HTTP/0.9', 'GET /\r\n\r\n'],
])('%s is refused', async (_what, text) => {
  const { asked, listener } = await start()
  const { status, body } = await raw(listener.port, text)
  expect([status, JSON.parse(body).code]).toEqual([400, 'request_malformed'])
  expect(asked).toEqual([])
})
