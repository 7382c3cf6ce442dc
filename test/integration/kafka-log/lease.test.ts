/** Tests a process that counts itself as expelled, e.g. after the host was suspended, while its group still has it. */
import { afterEach, describe, expect, it } from 'vitest'
import { aborted } from '../../../src/lifecycle/aborted.ts'
import { type Clock, systemClock } from '../../../src/lifecycle/clock.ts'
import { SESSION_MS } from '../../../src/log-kafka/group/group-member.ts'
import { groupElections } from '../../../src/log-kafka/group/leader.ts'
import { beginOwning, putRow } from '../../log/owning.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'

const brokers = await sharedBrokers()
const { signal } = new AbortController()

describe.skipIf(brokers === null)('a member that its group still lists', () => {
  const logs = createLogKeeper()
  afterEach(() => logs.closeAll())

  it('regains leadership and shards although no member joins or leaves', async () => {
    const leases = new Set<() => void>()
    const clock: Clock = {
      now: systemClock.now,
      after(delayMs, callback) {
        const cancel = systemClock.after(delayMs, callback)
        if (delayMs !== SESSION_MS) return cancel
        leases.add(callback)
        return () => {
          leases.delete(callback)
          cancel()
        }
      },
    }
    const options = { ...kafkaLogOptions(brokers ?? []), clock, openElections: groupElections }
    const log = logs.open(options)
    const term = await log.campaign(signal)
    const owner = beginOwning(log, 'words', 2)
    await owner.holds(2)
    await putRow(await owner.shard(0), 'a', 1)
    const before = [...owner.held.values()]
    for (const end of [...leases]) end()
    await Promise.all([term.lost, ...before.map(({ lost }) => lost)].map(aborted))
    const next = await log.campaign(signal)
    expect(next.lost.aborted).toBe(false)
    const writer = await log.claim(next, signal)
    await writer.release()
    await owner.holds(2)
    expect(owner.came).toHaveLength(4)
    expect((await owner.shard(0)).rows.get('a')).toBe(1)
    await owner.stop()
  })
})
