import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/http/listener.ts'
import { beginLongAnswer, endLongAnswer, writeChunk } from '../../src/http/long-answer.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { liveBytes } from '../support/live-bytes.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { collectRaw } from './raw.ts'

const REQUEST = 'GET /long HTTP/1.1\r\nHost: x\r\n\r\n'
const OTHER = 'GET /other HTTP/1.1\r\nHost: x\r\n\r\n'

type Answer = Awaited<ReturnType<typeof beginLongAnswer>>

/** A listener that streams a response below `/long`, and answers `other` to all other requests. */
async function start() {
  const answers: Answer[] = []
  const requests: WeakRef<IncomingMessage | ServerResponse>[] = []
  const clock = createManualClock()
  const { logger } = keepingLogger()
  const listener = await listen(
    async (request, response) => {
      requests.push(new WeakRef(request), new WeakRef(response))
      // Like every route: authentication takes a tick first.
      await nextTurn()
      if (request.url === '/long') answers.push(await beginLongAnswer(response, { 'X-Of': 'the test' }))
      else response.end('other')
    },
    { host: '127.0.0.1', port: 0, setting: 'X', clock, logger },
  )
  onTestFinished(() => listener.close(0))
  return { answers, requests, clock, listener }
}

function bodyOf({ text }: { text: string }): string {
  return text.slice(text.indexOf('\r\n\r\n') + 4)
}

async function begun(answers: readonly Answer[]): Promise<Socket> {
  await until(() => answers.length === 1)
  const [answer] = answers
  if (answer === undefined || answer instanceof ServerResponse) throw new Error('an ordinary answer')
  return answer
}

describe('a streaming response', () => {
  test('writes one chunk per write, and the final chunk at its end', async () => {
    const { answers, listener } = await start()
    const client = collectRaw(listener.port, REQUEST)
    const answer = await begun(answers)
    writeChunk(answer, Buffer.from('one'), () => {})
    writeChunk(answer, Buffer.alloc(26, '2'), () => {})
    endLongAnswer(answer)
    await until(() => client.isOver)
    expect(client.text).toMatch(/^HTTP\/1.1 200 OK\r\nX-Of: the test\r\n/)
    expect(client.text).toContain('\r\nTransfer-Encoding: chunked\r\n')
    expect(bodyOf(client)).toBe(`3\r\none\r\n1a\r\n${'2'.repeat(26)}\r\n0\r\n\r\n`)
  })

  test('reads as one body by fetch, and as a broken one if the connection is cut', async () => {
    const { answers, listener } = await start()
    const whole = fetch(`${listener.url}/long`)
    const answer = await begun(answers)
    writeChunk(answer, Buffer.from('all of it'), () => {})
    endLongAnswer(answer)
    expect(await (await whole).text()).toBe('all of it')
    answers.length = 0
    const cut = await fetch(`${listener.url}/long`)
    ;(await begun(answers)).destroy()
    await expect(cut.text()).rejects.toThrow()
  })

  test('is an ordinary response if the connection closes after it: HTTP/1.0 and Connection: close', async () => {
    const { answers, listener } = await start()
    const closing = REQUEST.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
    const clients = [REQUEST.replace('1.1', '1.0'), closing].map((text) => collectRaw(listener.port, text))
    await until(() => answers.length === 2)
    for (const answer of answers) {
      expect(answer).toBeInstanceOf(ServerResponse)
      answer.write(Buffer.from('body'), () => {})
      endLongAnswer(answer)
    }
    await until(() => clients.every(({ isOver }) => isOver))
    expect(clients.map(bodyOf).sort()).toEqual(['4\r\nbody\r\n0\r\n\r\n', 'body'])
  })

  test('outlives the idle timeout of connections, and has no timeout of node:http', async () => {
    const { answers, listener } = await start()
    const client = collectRaw(listener.port, REQUEST)
    const answer = await begun(answers)
    let timeouts = 0
    answer.on('timeout', () => {
      timeouts += 1
    })
    answer.setTimeout(10)
    await until(() => timeouts === 1)
    answer.setTimeout(0)
    writeChunk(answer, Buffer.from('still there'), () => {})
    await until(() => client.text.includes('still there'))
  })

  test('delays the close of the listener until it ends, at most for the budget', async () => {
    const { answers, listener, clock } = await start()
    const client = collectRaw(listener.port, REQUEST)
    const answer = await begun(answers)
    let isClosed = false
    const closing = listener.close(5000).then(() => {
      isClosed = true
    })
    await nextTurn()
    writeChunk(answer, Buffer.from('going away'), () => {})
    expect(isClosed).toBe(false)
    endLongAnswer(answer)
    await closing
    await until(() => client.isOver)
    expect(client.text).toContain('going away')
    expect(clock.nextTimerMs()).toBeNull()
  })

  test('releases its request and response to the garbage collector', async () => {
    const { answers, requests, listener } = await start()
    collectRaw(listener.port, REQUEST)
    await begun(answers)
    await until(async () => {
      await liveBytes()
      return requests.length === 2 && requests.every((one) => one.deref() === undefined)
    })
  })
})

describe('another request on the connection of a streaming response', () => {
  test('is never answered into the stream: the connection is closed', async () => {
    const { answers, listener } = await start()
    const client = collectRaw(listener.port, REQUEST)
    await begun(answers)
    client.socket.write(OTHER)
    await until(() => client.isOver)
    expect(client.text).not.toContain('other')
  })

  test('that was pipelined waits, as for any response', async () => {
    const { answers, listener } = await start()
    const client = collectRaw(listener.port, `${REQUEST}${OTHER}`)
    await until(() => answers.length === 1 && client.text !== '')
    expect(client.text).not.toContain('other')
    for (const answer of answers) endLongAnswer(answer)
    await until(() => client.text.endsWith('other'))
  })

  test('that is no HTTP gets no response either', async () => {
    const { answers, listener } = await start()
    const client = collectRaw(listener.port, REQUEST)
    await begun(answers)
    client.socket.write('nonsense\r\n\r\n')
    await until(() => client.isOver)
    expect(bodyOf(client)).toBe('')
  })
})
