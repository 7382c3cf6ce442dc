import { afterEach, describe, expect, it } from 'vitest'
import { runPruner } from '../../../src/archive/replica/pruner.ts'
import type { Archive } from '../../../src/archive/store/archive.ts'
import { COMPLETE_REPLICA, type ReplicaState } from '../../../src/archive/store/replica-progress.ts'
import { BridgeError } from '../../../src/errors.ts'
import type { Log } from '../../../src/log/log.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { inPlace, items, memoryArchive } from '../samples.ts'

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A pruner of a replica; `oldest` returns the first sequence that the log retains. */
function pruning(archive: Archive, oldest: Log['oldest'], replica: ReplicaState = COMPLETE_REPLICA) {
  const clock = createManualClock()
  const { logger, lines } = keepingLogger()
  const ended = new AbortController()
  const log = { ...createMemoryLog(), oldest }
  const run = runPruner({ log, archive, replica, clock, logger }, ended.signal)
  stops.push(async () => {
    ended.abort()
    await run
  })
  return { clock, lines }
}

describe('the pruner', () => {
  it('prunes what the log has dropped, at the start and again an hour later', async () => {
    const archive = memoryArchive(inPlace(items(300)))
    let kept = 251
    const { clock, lines } = pruning(archive, async () => kept)
    await until(() => lines.length === 1)
    expect([archive.oldest, archive.latest]).toEqual([251, 300])
    expect(lines).toMatchObject([{ event: 'replica.pruned', fields: { events: 250, oldest: 251 } }])
    kept = 260
    await until(() => clock.nextTimerMs() !== null)
    clock.advance(3_600_000)
    await until(() => archive.oldest === 260)
  })

  it('keeps the last event when the log retains none, and everything when the log retains all', async () => {
    const archive = memoryArchive(inPlace(items(5)))
    pruning(archive, async () => null)
    await until(() => archive.oldest === 5)
    const other = memoryArchive(inPlace(items(5)))
    const { clock, lines } = pruning(other, async () => 1)
    await until(() => clock.nextTimerMs() !== null)
    expect([other.oldest, lines]).toEqual([1, []])
  })

  it('retries when the log is unavailable, and logs that', async () => {
    const archive = memoryArchive(inPlace(items(5)))
    let away = true
    const { clock, lines } = pruning(archive, async () => {
      if (away) throw new BridgeError('log_unavailable', 'no broker answers')
      return 3
    })
    await until(() => clock.nextTimerMs() !== null)
    expect(lines).toMatchObject([{ event: 'replica.not_pruned', fields: { reason: 'no broker answers' } }])
    away = false
    clock.advance(3_600_000)
    await until(() => archive.oldest === 3)
  })

  it('prunes nothing before the replica was compared with the log', async () => {
    const archive = memoryArchive(inPlace(items(5)))
    const compared = Promise.withResolvers<void>()
    let asked = 0
    const replica = {
      ...{ isLog: false, missing: 0, filling: null },
      untilComplete: () => compared.promise,
    }
    pruning(
      archive,
      async () => {
        asked += 1
        return 4
      },
      replica,
    )
    await new Promise((resolve) => setImmediate(resolve))
    expect([asked, archive.oldest]).toEqual([0, 1])
    compared.resolve()
    await until(() => archive.oldest === 4)
  })
})
