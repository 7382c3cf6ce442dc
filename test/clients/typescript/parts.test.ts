/** Tests the client's parts that need no socket, and its source as browsers load it. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createInbox } from '../../../clients/typescript/src/inbox.ts'
import { readMessage } from '../../../clients/typescript/src/messages.ts'
import { createSeen } from '../../../clients/typescript/src/seen.ts'
import { strippedClient } from '../../../clients/typescript/strip.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { readSources } from '../../support/house/imports.ts'
import { root } from '../../support/house/repository.ts'
import { runTool } from '../../support/tools.ts'

const SOURCE = 'clients/typescript/src'

describe('the inbox', () => {
  test('returns every item once and in order, reports when it is full, and when three quarters are free', async () => {
    const pushes = fc.array(fc.record({ chars: fc.nat(40), takes: fc.nat(3) }), { maxLength: 100 })
    await fc.assert(
      fc.asyncProperty(pushes, async (script) => {
        const inbox = createInbox<number>(100)
        const held: number[] = []
        const got: (number | null)[] = []
        for (const [item, { chars, takes }] of script.entries()) {
          inbox.push(item, chars)
          held.push(chars)
          for (let take = 0; take < takes && held.length > 0; take++) {
            got.push(await inbox.next())
            held.shift()
          }
          expect(inbox.isFull).toBe(held.reduce((sum, own) => sum + own, 0) >= 100)
        }
        const room = inbox.room()
        inbox.end(false)
        await room
        for (let item = await inbox.next(); item !== null; item = await inbox.next()) got.push(item)
        expect(got).toEqual([...script.keys()])
      }),
      { numRuns: 50 },
    )
  })

  test('has room again when three quarters are free, not earlier: else a slow reader would be connected for each message', async () => {
    const inbox = createInbox<string>(8)
    for (const item of ['a', 'b', 'c', 'd']) inbox.push(item, 2)
    let hasRoom = false
    const room = inbox.room().then(() => {
      hasRoom = true
    })
    const after: boolean[] = []
    for (let taken = 0; taken < 3; taken++) {
      await inbox.next()
      await Promise.resolve()
      after.push(hasRoom)
    }
    expect(after).toEqual([false, false, true])
    await room
  })

  test('wakes waiters for an item, and waiters for room', async () => {
    const inbox = createInbox<string>(8)
    const first = inbox.next()
    inbox.push('a', 4)
    expect(await first).toBe('a')
    inbox.push('b', 8)
    let hasRoom = false
    const room = inbox.room().then(() => {
      hasRoom = true
    })
    await Promise.resolve()
    expect(hasRoom).toBe(false)
    expect(await inbox.next()).toBe('b')
    await room
    const last = inbox.next()
    inbox.end(true)
    expect(await last).toBeNull()
  })
})

test('an event is new once, until so many others have arrived', () => {
  const seen = createSeen(2)
  expect(['a', 'b', 'a', 'c', 'b', 'a', 'b'].map((id) => seen.isNew(id, '{}'))).toEqual([
    true,
    true,
    false,
    true,
    false,
    true,
    true,
  ])
})

test('an event with a known id is a repeat only where its data is the same; other members do not count', () => {
  const seen = createSeen(100)
  const text = (sequence: number, data: string): string =>
    `{"id":"a","sequence":"${sequence}","data":${data}}`
  expect(seen.isNew('a', text(1, '{"x":1}'))).toBe(true)
  expect(seen.isNew('a', text(2, '{"x":1}'))).toBe(false)
  expect(seen.isNew('a', text(1, '{"x":2}'))).toBe(true)
  expect(seen.isNew('b', text(1, '{"x":2}'))).toBe(true)
})

test('two contents are told apart wherever they differ', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      const seen = createSeen(2)
      const text = (headline: string): string => `{"id":"a","data":${JSON.stringify({ headline })}}`
      seen.isNew('a', text(one))
      expect(seen.isNew('a', text(other))).toBe(one !== other)
    }),
  )
})

test.each(['', '"id":"a\\"b",'])('the text of an event is what the bridge wrote, behind %s', (id) => {
  const event = '{"id":"e","cursor":"c","data":{"price":1.50,"big":12345678901234567890}}'
  const text = `{"type":"disclosure",${id}"sent":"2026-01-06T07:00:00.000Z","event":${event}}`
  expect(readMessage(text)).toMatchObject({ type: 'disclosure', json: event })
})

test('any input is a message or rejected as none; nothing throws', () => {
  const names = ['disclosure', 'gap', 'live', 'heartbeat', 'hello', 'going_away', 'error', 'new', 7]
  const value = fc.oneof(
    fc.jsonValue(),
    fc.record({
      type: fc.constantFrom(...names),
      event: fc.jsonValue(),
      cursor: fc.jsonValue(),
      heartbeatMs: fc.jsonValue(),
      reconnectInMs: fc.jsonValue(),
    }),
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        value.map((own) => JSON.stringify(own)),
      ),
      (text) => {
        const message = readMessage(text)
        if (message === null) return
        if (message.type === 'disclosure' || message.type === 'gap')
          expect([typeof message.event.id, typeof message.event.cursor]).toEqual(['string', 'string'])
        if (message.type === 'hello') expect(message.heartbeatMs).toBeGreaterThanOrEqual(0)
        if (message.type === 'going_away') expect(message.reconnectInMs).toBeGreaterThanOrEqual(0)
      },
    ),
  )
})

test('an error whose members are objects without a primitive form is read', () => {
  const value = '{"toString":1,"valueOf":1}'
  expect(readMessage(`{"type":"error","code":${value},"name":${value},"detail":${value}}`)).toEqual({
    type: 'error',
    code: Number.NaN,
    name: '',
    detail: '',
  })
})

describe('the JSON text of an event', () => {
  const read = (text: string) => readMessage(text) as { json?: string } | null

  test('is the one that the bridge wrote, although parsing and serialising would change it', () => {
    const event = '{"id":"a","cursor":"c","data":{"price":1.50,"n":12345678901234567890,"t":"\\u00e9\\/"}}'
    expect(JSON.stringify(JSON.parse(event))).not.toBe(event)
    expect(read(`{"type":"disclosure","sent":"2026","event":${event}}`)?.json).toBe(event)
  })

  test('is serialised anew if the members arrive in another order', () => {
    const event = '{"id":"a","cursor":"c"}'
    expect(read(`{"type":"gap","event":${event},"sent":"2026"}`)?.json).toBe(event)
  })
})

describe('the client source', () => {
  test('imports nothing but its own files', () => {
    const sources = readSources(root, SOURCE)
    expect(sources.length).toBeGreaterThan(5)
    const imported = sources.flatMap(({ imports }) => imports.map(({ specifier }) => specifier))
    expect(imported.filter((specifier) => !/^\.\/[a-z]+\.ts$/.test(specifier))).toEqual([])
  })

  test('is TypeScript for a browser page without Node’s types', async () => {
    const files = readdirSync(join(root, SOURCE)).map((name) => join(root, SOURCE, name))
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2024', '--lib', 'es2024,dom']
    const compiler = join(root, 'node_modules/.bin/tsc')
    const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--allowImportingTsExtensions']
    const args = [compiler, ...options, ...modules, '--types', '', ...files]
    expect(await runTool(process.execPath, args)).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('resolves by the names of its package', async () => {
    using directory = temporaryDirectory()
    const scope = join(directory.path, 'node_modules/@disclosure-bridge')
    mkdirSync(scope, { recursive: true })
    symlinkSync(join(root, 'clients/typescript'), join(scope, 'client'))
    const program = join(directory.path, 'program.mjs')
    writeFileSync(
      program,
      `import { connect } from '@disclosure-bridge/client'
       import { StreamFailure } from '@disclosure-bridge/client/verdict'
       process.stdout.write([connect.name, StreamFailure.name].join())`,
    )
    expect((await runTool(process.execPath, [program])).stdout).toBe('connect,StreamFailure')
  })

  test('becomes JavaScript line by line, with its imports renamed', () => {
    const files = strippedClient()
    expect([...files.keys()].sort()).toEqual(
      readdirSync(join(root, SOURCE))
        .map((name) => name.replace('.ts', '.js'))
        .sort(),
    )
    for (const [name, code] of files) {
      const source = readFileSync(join(root, SOURCE, name.replace('.js', '.ts')), 'utf8')
      expect(code.split('\n').length).toBe(source.split('\n').length)
      expect(code).not.toMatch(/from '\.\/\w+\.ts'/)
    }
  })
})
