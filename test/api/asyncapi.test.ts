/**
 * Tests the AsyncAPI document against the topics, messages and codes in the code. That real messages match it is
 * tested in each `channels.test.ts`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { asyncApiRoute } from '../../src/api/routes/document-route.ts'
import { productChannels } from '../../src/app/channels.ts'
import { createApp } from '../../src/http/app.ts'
import { listen } from '../../src/http/listener.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startTopics } from '../../src/log-kafka/topics/topics.ts'
import { streamCloseCodes } from '../../src/obs/metrics.ts'
import { closeCodes, errorNames } from '../../src/streams/transport/refusal.ts'
import { subprotocols } from '../../src/streams/transport/ws-frames.ts'
import { namesOf, partAt, productDocument, referencesIn, TOPICS } from '../support/house/asyncapi-document.ts'
import { root } from '../support/house/repository.ts'
import { keepingLogger } from '../support/keeping-logger.ts'

const document = productDocument()
const streams = readFileSync(join(root, 'docs/use/websocket.md'), 'utf8')
const webSockets = subprotocols.map((name) => `websocket.${name}`)

/** The first cells of the table whose head begins like this, without backquotes. */
function firstCells(head: string): string[] {
  const [, rows = ''] = streams.split(`\n${head}`)
  const [table = ''] = rows.slice(rows.indexOf('\n') + 1).split('\n\n')
  const cells = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell.replaceAll('`', ''))
  if (cells.length === 0) throw new Error(`there is no table ${head}`)
  return cells
}

test('every reference resolves, and every shared component is used', () => {
  const references = referencesIn(document)
  expect(references.filter((pointer) => partAt(document, pointer) === undefined)).toEqual([])
  const shared = Object.entries(document.components).flatMap(([kind, parts]) =>
    Object.keys(parts).map((name) => `#/components/${kind}/${name}`),
  )
  expect(shared.filter((pointer) => !references.includes(pointer))).toEqual([])
  const servers = Object.keys(document.servers).map((name) => `#/servers/${name}`)
  expect(servers.filter((pointer) => !references.includes(pointer))).toEqual([])
})

test('every message of a channel is sent or received by the bridge, and no other is', () => {
  for (const [key, { messages }] of Object.entries(document.channels)) {
    const used = [...namesOf(document, key, 'send'), ...namesOf(document, key, 'receive')]
    expect([key, used.sort()]).toEqual([key, Object.keys(messages).sort()])
  }
})

describe('of Kafka', () => {
  const topics = Object.values(document.channels).flatMap(({ address, bindings }) =>
    bindings?.kafka === undefined ? [] : [{ address, ...bindings.kafka }],
  )

  test('every contract topic is documented, and no internal topic', () => {
    const named = topics.map(({ address = '' }) => address.replace('{code}', '_other'))
    const made = startTopics(new Set()).filter((topic) => !topic.startsWith('internal.'))
    expect(named.sort()).toEqual(made.map((topic) => `${TOPICS.prefix}.${topic}`).sort())
    expect(topics.every(({ partitions }) => partitions === 1)).toBe(true)
  })

  test('the Kafka channels document how long records are kept', () => {
    const kept = (topic: string) =>
      topics.find(({ address }) => address === `desk.${topic}`)?.topicConfiguration
    expect(kept('all')).toEqual({ 'cleanup.policy': ['delete'], 'retention.ms': -1 })
    expect(kept('fca.{code}')).toEqual({ 'cleanup.policy': ['delete'], 'retention.ms': 3_600_000 })
    expect(kept('status')).toEqual({ 'cleanup.policy': ['delete'], 'retention.ms': 86_400_000 })
    const embedded = productDocument(null).channels['kafka.all']
    expect([embedded?.address, embedded?.bindings?.kafka?.topicConfiguration]).toEqual([
      'disclosures.all',
      undefined,
    ])
  })
})

describe('of a WebSocket', () => {
  test('the commands and messages match the guide, in each subprotocol', () => {
    for (const key of webSockets) {
      expect([key, namesOf(document, key, 'send').sort()]).toEqual([key, firstCells('| `type` |').sort()])
      const commands = firstCells('| Message | Does |').map(
        (text) => (/"action":"(\w+)"/.exec(text) ?? [])[1],
      )
      expect([key, namesOf(document, key, 'receive').sort()]).toEqual([key, commands.sort()])
    }
  })

  test('the errors match the code and the guide', () => {
    const known = Object.entries(errorNames).map(([number, name]) => `${number} ${name}`)
    expect(firstCells('| `error` code, name |')).toEqual(known)
    for (const key of webSockets) {
      const payload = JSON.stringify(document.components.messages[`${key}.error`]?.payload)
      const pairs = [...payload.matchAll(/"code":\{"const":(\d+)\},"name":\{"const":"(\w+)"\}/g)]
      expect([key, pairs.map(([, number, name]) => `${number} ${name}`)]).toEqual([key, known])
    }
  })

  test('the close codes match the code and the guide', () => {
    const counted = streamCloseCodes.filter((code) => /^\d{4}$/.test(code))
    const documented = firstCells('| Code | Reason |').flatMap((cell) => cell.split(', '))
    expect(documented.sort()).toEqual([...counted].sort())
    for (const key of webSockets) {
      const codes = document.channels[key]?.['x-close-codes'] ?? {}
      expect([key, Object.keys(codes).sort()]).toEqual([key, [...counted].sort()])
      expect(closeCodes.filter((code) => codes[code] === undefined)).toEqual([])
      for (const [code, { comeBack }] of Object.entries(codes)) {
        const range = { 40: 'never', 41: 'later', 42: 'at_once' }[code.slice(0, 2)]
        if (range !== undefined) expect([code, comeBack]).toEqual([code, range])
      }
    }
  })
})

test('the document is served without authentication', async () => {
  const { logger } = keepingLogger()
  const routes = [asyncApiRoute(productChannels(TOPICS))]
  const app = createApp({ routes, authenticate: () => 'unknown', corsOrigins: [], logger })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  onTestFinished(() => listener.close(0))
  const response = await fetch(`${listener.url}/asyncapi.json`)
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/json; charset=utf-8',
  ])
  expect(response.headers.get('etag')).toMatch(/^"[\w-]{22}"$/)
  expect(await response.json()).toEqual(document)
})
