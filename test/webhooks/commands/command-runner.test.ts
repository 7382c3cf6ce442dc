import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import type { Command, ReplayCommand } from '../../../src/webhooks/commands/command-rows.ts'
import { CommandRunner } from '../../../src/webhooks/commands/command-runner.ts'
import { createCommands } from '../../../src/webhooks/commands/commands.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { EPOCH } from '../../support/streams/scripted-reader.ts'
import { dyingLog } from '../../support/webhooks/dying-log.ts'
import { endpointOf, WebhookWorld } from '../../support/webhooks/webhook-world.ts'

const EVENTS = 40

/** A world whose worker gets commands, in a process that can be killed. */
async function commandedWorld(seed = 1, settings: Parameters<typeof endpointOf>[1] = {}) {
  const world = new WebhookWorld({ seed, scripts: {}, endpoints: [endpointOf('one', settings)] })
  const log = createMemoryLog()
  const logger = keepingLogger()
  let life = new AbortController()
  const asker = createCommands({ log, clock: world.clock, logger: logger.logger })
  void asker.run(new AbortController().signal)
  const start = (): void => {
    life = new AbortController()
    const parts = { clock: world.clock, logger: logger.logger }
    const commands = createCommands({ log: dyingLog(log, world.clock, life.signal), ...parts })
    void commands.run(life.signal)
    const runner = new CommandRunner({
      commands,
      endpoints: { isLoaded: true, get: (id) => (world.endpoints.has(id) ? ({ id } as never) : null) },
      workerOf: () => world.worker,
      report: async () => undefined,
      notifications: { carryOut: async () => undefined, isOpen: () => false, send: async () => undefined },
      reader: world.log.reader,
      ...parts,
    })
    void runner.run(life.signal)
  }
  start()
  for (let count = 0; count < EVENTS; count++) world.log.add({})
  await world.run(HOUR_MS)
  return {
    world,
    log,
    asker,
    lines: logger.lines,
    left: async () => [...(await log.table<Command>('webhook-commands').load()).keys()],
    async kill() {
      life.abort()
      await world.crash()
    },
    revive() {
      world.start()
      start()
    },
    async end() {
      life.abort()
      await world.stop()
      await log.close()
    },
  }
}

function replay(after: number, until: number, parts: Partial<ReplayCommand> = {}): ReplayCommand {
  return { kind: 'replay', epoch: EPOCH, after, until, only: null, atMs: 0, ...parts }
}

/** The number of times each sequence was accepted. */
function takenOf(world: WebhookWorld): Map<number, number> {
  const counts = new Map<number, number>()
  for (const { sequence, status, endedMs } of world.seen) {
    if (status === 204 && endedMs !== null) counts.set(sequence, (counts.get(sequence) ?? 0) + 1)
  }
  return counts
}

describe('webhook commands', () => {
  test('run in the order of their requests, one replay of an endpoint at a time', async () => {
    const { world, asker, left, lines, end } = await commandedWorld()
    const asked = [
      asker.put('one', 'rp_b', replay(0, 30, { atMs: 1 })),
      asker.put('one', 'rp_a', replay(10, 20, { atMs: 2 })),
    ]
    await world.run(20)
    expect(world.worker?.machineOf('one')?.cursors.replayIds()).toEqual(['rp_b'])
    expect(await left()).toEqual(['one/rp_a'])
    await world.run(HOUR_MS)
    await Promise.all(asked)
    const counts = takenOf(world)
    expect([counts.get(10), counts.get(11), counts.get(20), counts.get(31)]).toEqual([2, 3, 3, 1])
    expect([await left(), world.rows.size]).toEqual([[], 1])
    const begun = lines.filter(({ event }) => event === 'webhook.replay_started')
    expect(begun.map(({ fields }) => fields.replay)).toEqual(['rp_b', 'rp_a'])
    await end()
  })

  test('survive every kill: events of the window are sent once more, and a finished replay does not start again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.array(fc.nat(80), { minLength: 1, maxLength: 4 }),
        async (seed, kills) => {
          const { world, asker, left, kill, revive, end } = await commandedWorld(seed)
          await asker.put('one', 'rp_1', replay(4, 36))
          for (const afterMs of kills) {
            await world.run(afterMs)
            await kill()
            await world.run(50)
            revive()
          }
          await world.run(HOUR_MS)
          const counts = takenOf(world)
          for (let sequence = 1; sequence <= EVENTS; sequence++) {
            const least = sequence > 4 && sequence <= 36 ? 2 : 1
            expect(counts.get(sequence) ?? 0).toBeGreaterThanOrEqual(least)
          }
          const repeats = [...counts.values()].reduce((sum, count) => sum + count, 0) - EVENTS - 32
          expect(repeats).toBeLessThanOrEqual(4 * kills.length)
          expect([await left(), [...world.rows.keys()]]).toEqual([[], ['one/position']])
          await end()
        },
      ),
      { numRuns: 15 },
    )
  })

  test('that end a replay end one that runs and one that waits, and the next one goes on', async () => {
    const { world, asker, left, lines, end } = await commandedWorld(1, { rateLimit: 1 })
    const { signal } = new AbortController()
    const asked = [
      asker.put('one', 'rp_1', replay(0, 30, { atMs: 1, count: 30 })),
      asker.put('one', 'rp_2', replay(0, 30, { atMs: 2 })),
      asker.put('one', 'rp_3', replay(35, 40, { atMs: 3 })),
    ]
    await world.run(5500)
    await Promise.all(asked)
    expect(world.worker?.standing('one')?.replays).toEqual([
      expect.objectContaining({ id: 'rp_1', from: 0, until: 30, count: 30, only: 'all' }),
    ])
    const sent = world.seen.length
    const ended = [asker.cancel('one', 'rp_1', signal), asker.cancel('one', 'rp_2', signal)]
    await world.run(2000)
    expect(await Promise.all(ended)).toEqual([true, true])
    await world.run(HOUR_MS)
    expect([await left(), [...world.rows.keys()]]).toEqual([[], ['one/position']])
    expect(world.seen.length).toBeLessThanOrEqual(sent + 2 + 5)
    const counts = takenOf(world)
    expect([30, 35, 36, 40].map((sequence) => counts.get(sequence))).toEqual([1, 1, 2, 2])
    const cancelled = lines.filter(({ event }) => event === 'webhook.replay_cancelled')
    expect(cancelled.map(({ fields }) => fields.replay)).toEqual(['rp_1', 'rp_2'])
    await end()
  })

  test('that end a replay free the events of an issuer that wait behind those that were not sent', async () => {
    const { world, asker, end } = await commandedWorld(1, { rateLimit: 0.01, order: 'issuer' })
    const asked = asker.put('one', 'rp_1', replay(0, 30))
    await world.run(50_000)
    await asked
    const ended = asker.cancel('one', 'rp_1', new AbortController().signal)
    await world.run(1000)
    expect(await ended).toBe(true)
    for (let count = 0; count < 10; count++) world.log.add({})
    await world.run(10 * HOUR_MS)
    const counts = takenOf(world)
    expect(Array.from({ length: 10 }, (_, at) => counts.get(EVENTS + 1 + at))).toEqual(new Array(10).fill(1))
    await end()
  })

  test('that end a replay survive every kill: nothing is lost, and no replay is left', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.nat(400),
        fc.array(fc.nat(200), { minLength: 1, maxLength: 4 }),
        async (seed, beforeMs, kills) => {
          const { world, asker, left, kill, revive, end } = await commandedWorld(seed)
          const asked = [
            asker.put('one', 'rp_1', replay(4, 36)),
            asker.put('one', 'rp_2', replay(4, 36, { atMs: 1 })),
          ]
          await world.run(beforeMs)
          const ended = asker.cancel('one', 'rp_1', new AbortController().signal)
          for (const afterMs of kills) {
            await world.run(afterMs)
            await kill()
            await world.run(50)
            revive()
          }
          await world.run(HOUR_MS)
          await Promise.all([...asked, ended])
          const counts = takenOf(world)
          for (let sequence = 1; sequence <= EVENTS; sequence++) {
            const least = sequence > 4 && sequence <= 36 ? 2 : 1
            expect(counts.get(sequence) ?? 0).toBeGreaterThanOrEqual(least)
          }
          expect([await left(), [...world.rows.keys()]]).toEqual([[], ['one/position']])
          await end()
        },
      ),
      { numRuns: 15 },
    )
  })

  test('that end a replay wait where no process delivers', async () => {
    const { world, asker, left, kill, revive, end } = await commandedWorld()
    await kill()
    const ended = asker.cancel('one', 'rp_1', new AbortController().signal)
    await world.run(10_100)
    expect([await ended, await left()]).toEqual([false, ['one/cancel-rp_1']])
    revive()
    await world.run(1000)
    expect(await left()).toEqual([])
    await end()
  })

  test('of an earlier epoch of the log are dropped, and the drop is logged', async () => {
    const { world, asker, left, lines, end } = await commandedWorld()
    const asked = asker.put('one', 'rp_1', replay(4, 36, { epoch: 'Epoch000' }))
    await world.run(1000)
    await asked
    expect(await left()).toEqual([])
    expect(takenOf(world).get(5)).toBe(1)
    expect(lines).toContainEqual(
      expect.objectContaining({
        event: 'webhook.replay_abandoned',
        fields: expect.objectContaining({ replay: 'rp_1' }),
      }),
    )
    await end()
  })

  test('of a deleted endpoint, and requests that nobody awaits, are removed after a minute', async () => {
    const { world, asker, left, end } = await commandedWorld()
    const atMs = world.clock.now()
    const asked = [
      asker.put('gone', 'rp_1', replay(4, 36, { atMs })),
      asker.put('one', 'rp_2', { kind: 'counted', count: 3, atMs }),
    ]
    await world.run(50_000)
    await Promise.all(asked)
    expect((await left()).sort()).toEqual(['gone/rp_1', 'one/rp_2'])
    await world.run(12_000)
    expect(await left()).toEqual([])
    await end()
  })

  test('that request a count are answered by the endpoint’s shard owner, or time out after ten seconds', async () => {
    const { world, asker, left, kill, end } = await commandedWorld()
    const question = { kind: 'count', after: 0, until: 9, atMs: world.clock.now() } as const
    const { signal } = new AbortController()
    const answered = asker.count('one', 'rp_1', question, signal)
    await world.run(1000)
    expect([await answered, await left()]).toEqual([0, []])
    await kill()
    const unanswered = asker.count('one', 'rp_2', question, signal)
    await world.run(10_000)
    expect([await unanswered, await left()]).toEqual([null, []])
    await end()
  })

  test('that stop an endpoint are confirmed when its owner has stopped, or after ten seconds where there is none', async () => {
    const { world, asker, left, kill, end } = await commandedWorld()
    let confirmedMs: number | null = null
    const stopping = asker.untilStopped('one').then(() => {
      confirmedMs = world.clock.now()
    })
    await world.run(500)
    expect(confirmedMs).toBeNull()
    const stoppedMs = world.clock.now()
    world.change('one', { status: 'paused' })
    await world.run(1000)
    await stopping
    expect((confirmedMs ?? 0) - stoppedMs).toBeLessThanOrEqual(50)
    expect(await left()).toEqual([])
    await kill()
    const unconfirmed = asker.untilStopped('one')
    await world.run(10_050)
    await unconfirmed
    expect(await left()).toEqual([])
    await end()
  })

  test('that make due what waits are carried out by the owner of the shard, once there is one', async () => {
    const { world, asker, left, lines, kill, revive, end } = await commandedWorld()
    await kill()
    const asked = asker.hasten('one')
    await world.run(1000)
    await asked
    expect(await left()).toEqual(['one/hasten'])
    revive()
    await world.run(2000)
    expect(await left()).toEqual([])
    expect(lines.filter(({ event }) => event === 'webhook.hastened')).toHaveLength(1)
    await end()
  })
})
