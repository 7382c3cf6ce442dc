import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { AuditRecorder } from '../../src/audit/audit-recorder.ts'
import type { AuditEntry } from '../../src/audit/audit-rows.ts'
import { BridgeError } from '../../src/errors.ts'
import type { AuditAction } from '../../src/http/audit/audit-actions.ts'
import { Hidden } from '../../src/http/audit/changes.ts'
import { settingsCaller } from '../../src/http/auth.ts'
import { HttpProblem } from '../../src/http/problem.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const request = { method: 'POST', url: '/v1/things', headers: {} } as IncomingMessage

/** A recorder whose journal works or not, and what the journal has. */
function world() {
  const clock = createManualClock()
  const { logger, lines } = keepingLogger()
  const written: AuditEntry[] = []
  const journal = {
    isAway: false,
    /** What each append waits for, where the brokers hang. */
    hanging: null as Promise<void> | null,
    begun: 0,
    async append(entries: readonly AuditEntry[]): Promise<void> {
      journal.begun += 1
      await journal.hanging
      if (journal.isAway) throw new BridgeError('log_unavailable', 'the brokers are away')
      written.push(...(JSON.parse(JSON.stringify(entries)) as AuditEntry[]))
    },
  }
  const recorder = new AuditRecorder({
    journal,
    tokens: { get: () => ({ name: 'deploys' }) },
    addressOf: () => ({ key: 'c0000201', isOwn: false }),
    clock,
    chance: () => 0.5,
    logger,
  })
  const stop = new AbortController()
  const running = recorder.run(stop.signal)
  const asked = (action: AuditAction) => ({ action, author: settingsCaller, request })
  return {
    ...{ recorder, journal, written, clock, lines, asked, stop, running },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
      await recorder.close()
    },
  }
}

const change = { target: 'tok_1', tenant: 'desk' }

test('a stored action is recorded before it is made, and again with what became of it', async () => {
  await using one = world()
  const made = await one.recorder.record(one.asked('token.deleted'), change, async (note) => {
    expect(one.written.map(({ outcome }) => outcome)).toEqual(['unknown'])
    note({ before: { name: 'old', scopes: ['admin'] }, after: { name: 'new', scopes: ['admin'] } })
    return 'made'
  })
  expect(made).toBe('made')
  await until(() => one.written.length === 2)
  const [begun, ended] = one.written
  expect(ended?.id).toBe(begun?.id)
  expect(ended).toMatchObject({
    action: 'token.deleted',
    outcome: 'done',
    code: null,
    actor: { tokenId: 'settings', name: 'deploys', tenant: 'default', sessionId: null },
    address: '192.0.2.1',
    target: 'tok_1',
    tenant: 'desk',
    before: { name: 'old' },
    after: { name: 'new' },
  })
})

test('without a journal a stored action is not made and the request is refused; the entry follows as failed', async () => {
  await using one = world()
  one.journal.isAway = true
  let made = 0
  const refused = one.recorder.record(one.asked('token.deleted'), change, async () => {
    made += 1
  })
  await expect(refused).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('nothing was changed'),
  })
  expect(made).toBe(0)
  await until(() => one.lines.some(({ event }) => event === 'audit.delayed'))
  one.journal.isAway = false
  await until(() => {
    one.clock.advance(1000)
    return one.written.length > 0
  })
  expect(one.written).toMatchObject([{ outcome: 'failed', code: 'log_unavailable', before: {}, after: {} }])
  expect(one.recorder.waiting).toBe(0)
})

test('a journal that fails after the action was recorded does not undo or repeat it', async () => {
  await using one = world()
  let made = 0
  const result = await one.recorder.record(one.asked('webhook.disabled'), change, async () => {
    one.journal.isAway = true
    made += 1
    return made
  })
  expect([result, made]).toEqual([1, 1])
  await until(() => one.lines.some(({ event }) => event === 'audit.delayed'))
  expect(one.written.map(({ outcome }) => outcome)).toEqual(['unknown'])
  one.journal.isAway = false
  await until(() => {
    one.clock.advance(1000)
    return one.written.length > 1
  })
  expect(one.written.map(({ outcome }) => outcome)).toEqual(['unknown', 'done'])
  expect(made).toBe(1)
})

test('a local action is made without a journal, and what cannot be recorded before the stop stands in the log', async () => {
  const one = world()
  one.journal.isAway = true
  await one.recorder.record(one.asked('session.begun'), change, async () => 'in')
  await one[Symbol.asyncDispose]()
  expect(one.lines.filter(({ event }) => event === 'audit.lost')).toMatchObject([
    { fields: { action: 'session.begun', target: 'tok_1', tenant: 'desk', outcome: 'done', by: 'settings' } },
  ])
})

test('entries that come beyond the bound during an append: each is written once, or stands in the log once', async () => {
  await using one = world()
  const names = Array.from({ length: 1200 }, (_, at) => `tok_${at}`)
  const record = (target: string) =>
    one.recorder.record(one.asked('session.begun'), { ...change, target }, async () => undefined)
  for (const isAway of [false, true]) {
    const hang = Promise.withResolvers<void>()
    Object.assign(one.journal, { isAway: false, hanging: hang.promise, begun: 0 })
    one.written.length = 0
    one.lines.length = 0
    for (const name of names) await record(name)
    expect(one.journal.begun).toBe(1)
    Object.assign(one.journal, { isAway, hanging: null })
    hang.resolve()
    if (isAway) await until(() => one.lines.some(({ event }) => event === 'audit.delayed'))
    one.journal.isAway = false
    await until(() => {
      one.clock.advance(1000)
      return one.recorder.waiting === 0
    })
    const lost = one.lines.filter(({ event }) => event === 'audit.lost').map(({ fields }) => fields.target)
    expect(lost.length).toBeGreaterThan(0)
    const known = [...one.written.map(({ target }) => target), ...lost]
    expect(known.toSorted()).toEqual(names.toSorted())
  }
})

test('a stop does not wait for an append that hangs, and its entries are written or lost, once', async () => {
  for (const end of ['written', 'lost']) {
    const one = world()
    const hang = Promise.withResolvers<void>()
    one.journal.hanging = hang.promise
    await one.recorder.record(one.asked('session.begun'), change, async () => 'in')
    await until(() => one.journal.begun === 1)
    one.stop.abort()
    await one.running
    expect(one.recorder.waiting).toBe(1)
    const closed = one.recorder.close()
    if (end === 'lost') one.clock.advance(3000)
    else hang.resolve()
    await closed
    // An append that fails after all has nobody who waits for it.
    one.journal.isAway = true
    hang.resolve()
    const lost = one.lines.filter(({ event }) => event === 'audit.lost')
    expect([one.written.length, lost.length]).toEqual(end === 'lost' ? [0, 1] : [1, 0])
    await until(() => one.recorder.waiting === 0)
    expect(one.journal.begun).toBe(1)
  }
})

test('a refusal is recorded with its code, and a log that failed half way as unknown', async () => {
  await using one = world()
  const refusing = async () => {
    throw new HttpProblem('precondition_failed', 'changed since')
  }
  const losing = async () => {
    throw new BridgeError('log_unavailable', 'it may be written or not')
  }
  await expect(one.recorder.record(one.asked('webhook.updated'), change, refusing)).rejects.toThrow('changed')
  await expect(one.recorder.record(one.asked('webhook.updated'), change, losing)).rejects.toThrow('may be')
  await until(() => one.written.length === 4)
  expect(one.written.map(({ outcome, code }) => [outcome, code])).toEqual([
    ['unknown', null],
    ['failed', 'precondition_failed'],
    ['unknown', null],
    ['unknown', 'log_unavailable'],
  ])
})

test('a hidden value is in no entry: that it changed is, and a part that may be shown', async () => {
  await using one = world()
  const before = {
    secret: new Hidden('whsec_old'),
    same: new Hidden({ a: 1 }),
    url: new Hidden('https://a.example/key-1', 'https://a.example/[hidden]'),
    nested: [{ key: new Hidden('key-2') }],
  }
  const after = {
    secret: new Hidden('whsec_new'),
    same: new Hidden({ a: 1 }),
    url: new Hidden('https://a.example/key-3', 'https://a.example/[hidden]'),
    nested: [{ key: new Hidden('key-4') }],
    long: 'x'.repeat(5000),
  }
  await one.recorder.record(one.asked('session.begun'), { ...change, before, after }, async () => undefined)
  await until(() => one.written.length === 1)
  expect(one.written[0]?.before).toEqual({
    secret: '[hidden]',
    url: 'https://a.example/[hidden]',
    nested: [{ key: '[hidden]' }],
  })
  expect(one.written[0]?.after).toMatchObject({ secret: '[hidden]', long: { bytes: 5002 } })
  expect(JSON.stringify(one.written)).not.toMatch(/whsec_|key-\d|xxxx/)
})
