import { describe, expect, it } from 'vitest'
import { createReplicaProgress } from '../../../src/archive/store/replica-progress.ts'

function replicaOf(oldest: number, latest: number) {
  const here = { oldest, latest }
  return { here, replica: createReplicaProgress(() => here) }
}

describe('a replica', () => {
  it('is not complete before it was compared with the log, whatever it contains', () => {
    const { replica } = replicaOf(1, 10)
    expect(replica.filling).toEqual({ sequence: 10, goal: null, share: 0 })
    replica.advanced()
    expect(replica.filling).not.toBe(null)
  })

  it('is complete at the log end seen by the comparison, and stays complete when more is committed', () => {
    const { here, replica } = replicaOf(1, 0)
    replica.compared(8)
    expect(replica.filling).toEqual({ sequence: 0, goal: 8, share: 0 })
    here.latest = 6
    replica.advanced()
    expect(replica.filling).toEqual({ sequence: 6, goal: 8, share: 0.75 })
    here.latest = 8
    replica.advanced()
    replica.advanced()
    expect(replica.filling).toBe(null)
  })

  it('reports how many events it lacks, and nothing certain before the comparison', () => {
    const { here, replica } = replicaOf(1, 6)
    expect(replica.missing).toBe(Number.MAX_SAFE_INTEGER)
    replica.compared(8)
    expect(replica.missing).toBe(2)
    here.latest = 8
    replica.advanced()
    expect(replica.missing).toBe(0)
    replica.emptied(9)
    here.latest = 0
    expect(replica.missing).toBe(9)
  })

  it('counts its progress from the first event that the log retains', () => {
    const { replica } = replicaOf(101, 125)
    replica.compared(200)
    expect(replica.filling).toMatchObject({ share: 0.25 })
  })

  it('resolves its waits each time it becomes complete again after it was emptied', async () => {
    const { here, replica } = replicaOf(1, 0)
    const { signal } = new AbortController()
    let passed = 0
    const pass = async (): Promise<void> => {
      await replica.untilComplete(signal)
      passed += 1
    }
    const first = pass()
    replica.compared(3)
    expect(passed).toBe(0)
    here.latest = 3
    replica.advanced()
    await first
    replica.emptied(5)
    here.latest = 4
    replica.advanced()
    const second = pass()
    await Promise.resolve()
    expect([passed, replica.filling]).toMatchObject([1, { goal: 5 }])
    here.latest = 5
    replica.advanced()
    await second
    await pass()
    expect(passed).toBe(3)
  })

  it('resolves a wait whose signal aborts', async () => {
    const { replica } = replicaOf(1, 0)
    await replica.untilComplete(AbortSignal.abort())
    const ended = new AbortController()
    const waiting = replica.untilComplete(ended.signal)
    ended.abort()
    await waiting
    expect(replica.filling).not.toBe(null)
  })
})
