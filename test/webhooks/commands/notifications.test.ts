import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { newSecret } from '../../../src/core/signature.ts'
import type { Log } from '../../../src/log/log.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { Endpoints, type NewEndpoint } from '../../../src/registry/endpoints.ts'
import { IdempotencyKeys } from '../../../src/registry/idempotency-keys.ts'
import type { Command } from '../../../src/webhooks/commands/command-rows.ts'
import type { DisableReason } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import { createSecretBox } from '../../../src/webhooks/endpoints/secrets.ts'
import { wireReplays } from '../../../src/webhooks/replay/replay-wiring.ts'
import type { Attempt } from '../../../src/webhooks/send/delivery.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createScriptedReader } from '../../support/streams/scripted-reader.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { dyingLog } from '../../support/webhooks/dying-log.ts'
import { wantedEndpoint } from '../../support/webhooks/endpoints.ts'

const box = createSecretBox({ key: 'the key of this test, of thirty-two characters', oldKey: null })
const NAMES = { filter: { types: ['webhook.disabled' as const] } }

/** A log with endpoints, and successive processes that deliver to them. */
function noticeWorld(statusOf: (endpointId: string, tries: number) => number = () => 204) {
  const clock = createManualClock()
  const log = createMemoryLog()
  const { logger, lines } = keepingLogger()
  const seen: {
    to: string
    webhookId: string
    event: { id: string; type: string; data: object }
    atMs: number
  }[] = []
  const attempt: Attempt = async ({ id }, { headers, body }, signal) => {
    const startedMs = clock.now()
    const event = JSON.parse(Buffer.from(body).toString())
    seen.push({ to: id, webhookId: headers['webhook-id'] ?? '', event, atMs: startedMs })
    const tries = seen.filter(({ to }) => to === id).length
    await new Promise<void>((resolve) => void clock.after(5, resolve))
    const answered = { kind: 'answered', status: statusOf(id, tries), retryAfter: null } as const
    const end = signal.aborted ? ({ kind: 'aborted' } as const) : answered
    return { end, phase: 'body', startedMs, durationMs: 5, response: null, detail: null }
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  /** Advances the clock, timer by timer. */
  async function run(forMs: number): Promise<void> {
    const untilMs = clock.now() + forMs
    await settle()
    while (clock.now() < untilMs) {
      clock.advance(Math.min(untilMs - clock.now(), clock.nextTimerMs() ?? untilMs))
      await settle()
    }
  }
  function start() {
    const life = new AbortController()
    const own: Log = dyingLog(log, clock, life.signal)
    const endpoints = new Endpoints({ log: own, clock, logger })
    const recovery = wireReplays({
      log: own,
      reader: createScriptedReader(clock).reader,
      findEvents: () => new Map(),
      history: null,
      endpoints,
      idempotencyKeys: new IdempotencyKeys({ log: own, clock, logger }),
      secrets: box,
      attempt,
      onTested: () => undefined,
      onAttempted: () => undefined,
      clock,
      chance: () => 0.5,
      metrics: createMetrics({ version: '0' }),
      logger,
    })
    void endpoints.run(life.signal)
    void recovery.commands.run(life.signal)
    const worker = {
      replay: async () => false,
      cancelReplay: async () => false,
      machineOf: () => null,
      hasten: async () => true,
      isSending: () => false,
    }
    void recovery.runner(() => worker).run(life.signal)
    return { endpoints, recovery, kill: () => life.abort() }
  }
  const commands = log.table<Command>('webhook-commands')
  return { clock, lines, seen, run, start, commands, left: () => commands.load() }
}

type Process = ReturnType<ReturnType<typeof noticeWorld>['start']>

async function make(
  world: ReturnType<typeof noticeWorld>,
  { endpoints }: Process,
  parts: Partial<NewEndpoint>,
) {
  const wanted = wantedEndpoint(parts)
  const secrets = [{ wrapped: box.wrap(newSecret(), wanted.id), untilMs: null }]
  const made = endpoints.create({ ...wanted, secrets })
  await world.run(10)
  await made
}

/** Disables the endpoint as it is now. */
function disable({ endpoints, recovery }: Process, id: string, reason: DisableReason): Promise<boolean> {
  return recovery.disable({ id, version: endpoints.get(id)?.version ?? '' }, reason)
}
describe('webhook.exhausted.v1 and webhook.recovered.v1', () => {
  test('are sent only to the tenant’s other active endpoints that name them, signed and retried like every delivery', async () => {
    const world = noticeWorld((_, tries) => (tries === 1 ? 500 : 204))
    const process = world.start()
    const both = { filter: { types: ['webhook.exhausted' as const, 'webhook.recovered' as const] } }
    await make(world, process, { id: 'ep_bad', description: 'the desk', ...both })
    await make(world, process, { id: 'ep_both', ...both })
    await make(world, process, { id: 'ep_one', filter: { types: ['gap', 'webhook.recovered'] } })
    await make(world, process, { id: 'ep_old', ...NAMES })
    await make(world, process, { id: 'ep_other', tenant: 'other', ...both })
    await make(world, process, { id: 'ep_paused', status: 'paused', ...both })
    const { notify } = process.recovery
    void notify('ep_bad', { kind: 'exhausted', count: 3, firstMs: 1000, lastMs: 2000 })
    void notify('ep_bad', { kind: 'recovered', sinceMs: 1000, atMs: 3000 })
    await world.run(60_000)
    const sent = new Set(world.seen.map(({ to, event: { type } }) => `${to} ${type}`))
    expect([...sent].sort()).toEqual([
      'ep_both webhook.exhausted.v1',
      'ep_both webhook.recovered.v1',
      'ep_one webhook.recovered.v1',
    ])
    expect(world.seen.length).toBeGreaterThan(sent.size)
    const [exhausted] = world.seen.filter(({ event: { type } }) => type === 'webhook.exhausted.v1')
    expect(exhausted?.event).toMatchObject({
      id: 'webhook.exhausted:ep_bad:2000',
      data: { endpointId: 'ep_bad', description: 'the desk', count: 3, lastAt: '1970-01-01T00:00:02.000Z' },
    })
    expect((await world.left()).size).toBe(0)
    process.kill()
  })
})

describe('webhook.disabled.v1', () => {
  test('is sent only to the tenant’s other active endpoints that name it', async () => {
    const world = noticeWorld()
    const process = world.start()
    await make(world, process, { id: 'ep_bad', description: 'the desk', ...NAMES })
    await make(world, process, { id: 'ep_told', ...NAMES })
    await make(world, process, { id: 'ep_any', filter: { filters: [{ q: 'xx' }, NAMES.filter] } })
    await make(world, process, { id: 'ep_silent', filter: {} })
    await make(world, process, { id: 'ep_paused', status: 'paused', ...NAMES })
    await make(world, process, { id: 'ep_other', tenant: 'other', ...NAMES })
    const disabled = disable(process, 'ep_bad', 'failing')
    await world.run(2000)
    await disabled
    expect(process.endpoints.get('ep_bad')).toMatchObject({ status: 'disabled', disabledReason: 'failing' })
    expect(world.seen.map(({ to }) => to).sort()).toEqual(['ep_any', 'ep_told'])
    expect(world.seen[0]?.event).toMatchObject({
      type: 'webhook.disabled.v1',
      data: { endpointId: 'ep_bad', description: 'the desk', reason: 'failing' },
    })
    expect((await world.left()).size).toBe(0)
    process.kill()
  })

  test('is retried on the schedule of every delivery, and recorded as dead after the ninth attempt', async () => {
    const world = noticeWorld((id) => (id === 'ep_dead' ? 500 : 204))
    const process = world.start()
    await make(world, process, { id: 'ep_bad' })
    await make(world, process, { id: 'ep_dead', ...NAMES })
    void disable(process, 'ep_bad', 'gone')
    await world.run(48 * HOUR_MS)
    const waits = world.seen
      .slice(1)
      .map(({ atMs }, at) => Math.round((atMs - (world.seen[at]?.atMs ?? 0)) / 1000))
    const seconds = [5, 30, 120, 600, 3600, 14_400, 36_000, 86_400]
    expect(waits).toHaveLength(8)
    for (const [at, planned] of seconds.entries())
      expect(Math.abs((waits[at] ?? 0) - planned)).toBeLessThanOrEqual(1)
    expect(new Set(world.seen.map(({ webhookId }) => webhookId)).size).toBe(1)
    expect(world.lines.filter(({ event }) => event === 'webhook.notification_abandoned')).toHaveLength(1)
    expect((await world.left()).size).toBe(0)
    process.kill()
  })

  test('stops when every endpoint answers 410: each is disabled once, then waits', async () => {
    const world = noticeWorld(() => 410)
    const process = world.start()
    for (const id of ['ep_a', 'ep_b', 'ep_c']) await make(world, process, { id, ...NAMES })
    void disable(process, 'ep_a', 'gone')
    await world.run(60_000)
    expect(['ep_a', 'ep_b', 'ep_c'].map((id) => process.endpoints.get(id)?.status)).toEqual(
      Array(3).fill('disabled'),
    )
    expect(world.seen.length).toBeLessThanOrEqual(3)
    process.kill()
  })

  test('is not sent for an endpoint that its owner changed before it was disabled', async () => {
    const world = noticeWorld()
    const process = world.start()
    await make(world, process, { id: 'ep_bad' })
    await make(world, process, { id: 'ep_told', ...NAMES })
    const command = { kind: 'disable', reason: 'gone', version: 'of before', atMs: 0 } as const
    void process.recovery.commands.put('ep_bad', 'disable', command)
    await world.run(1000)
    expect([process.endpoints.get('ep_bad')?.status, world.seen]).toEqual(['active', []])
    expect((await world.left()).size).toBe(0)
    process.kill()
  })

  test('is not repeated and disables nothing again if the owner re-enables the endpoint before all notifications are sent', async () => {
    const world = noticeWorld()
    const atMs = world.clock.now()
    const notice = { kind: 'notice', eventId: 'e', json: '{}', tries: 1, dueMs: 9e12, atMs } as const
    for (let count = 0; count < 10_000; count++) await world.commands.put(`ep_told/n${count}`, notice)
    const process = world.start()
    const { commands } = process.recovery
    await make(world, process, { id: 'ep_bad' })
    await make(world, process, { id: 'ep_told', ...NAMES })
    void disable(process, 'ep_bad', 'gone')
    await world.run(100)
    expect(process.endpoints.get('ep_bad')?.status).toBe('disabled')
    expect(commands.of('ep_bad')).toHaveLength(1)
    void process.endpoints.update('ep_bad', () => ({ status: 'active', disabledReason: null }))
    await world.run(2000)
    expect(process.endpoints.get('ep_bad')?.status).toBe('active')
    expect([commands.of('ep_bad'), world.seen]).toEqual([[], []])
    process.kill()
  })

  test('reaches every endpoint despite kills at any moment, always with the same webhook-id', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(40), { minLength: 1, maxLength: 5 }), async (kills) => {
        const world = noticeWorld((_, tries) => (tries === 1 ? 500 : 204))
        let process = world.start()
        await make(world, process, { id: 'ep_bad' })
        const told = ['ep_1', 'ep_2', 'ep_3']
        for (const id of told) await make(world, process, { id, ...NAMES })
        void disable(process, 'ep_bad', 'failing')
        await world.run(4)
        for (const afterMs of kills) {
          await world.run(afterMs)
          process.kill()
          await world.run(20)
          process = world.start()
        }
        await world.run(60_000)
        expect(process.endpoints.get('ep_bad')?.status).toBe('disabled')
        for (const id of told) {
          const own = world.seen.filter(({ to }) => to === id)
          expect(own.length).toBeGreaterThanOrEqual(2)
          expect(own.length).toBeLessThanOrEqual(2 + 2 * kills.length)
          expect(new Set(own.map(({ webhookId }) => webhookId)).size).toBe(1)
        }
        expect((await world.left()).size).toBe(0)
        process.kill()
      }),
      { numRuns: 15 },
    )
  })

  test('are tried again at once where the clock was set back, and not later by the step', async () => {
    const world = noticeWorld((_, tries) => (tries === 1 ? 500 : 204))
    const process = world.start()
    await make(world, process, { id: 'ep_bad' })
    await make(world, process, { id: 'ep_told', filter: { types: ['webhook.exhausted' as const] } })
    void process.recovery.notify('ep_bad', { kind: 'exhausted', count: 3, firstMs: 1000, lastMs: 2000 })
    await world.run(1000)
    expect(world.seen).toHaveLength(1)
    world.clock.set(world.clock.now() - 2 * HOUR_MS)
    await world.run(30_000)
    expect(world.seen).toHaveLength(2)
    process.kill()
  })
})
