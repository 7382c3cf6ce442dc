import { describe, expect, it } from 'vitest'
import { createReplicaProgress } from '../../../src/archive/store/replica-progress.ts'

function copyOf(oldest: number, latest: number) {
  const here = { oldest, latest }
  return { here, copy: createReplicaProgress(() => here) }
}

describe('a copy', () => {
  it('is not whole before it was compared, whatever it holds', () => {
    const { copy } = copyOf(1, 10)
    expect(copy.filling).toEqual({ sequence: 10, goal: null, share: 0 })
    copy.advanced()
    expect(copy.filling).not.toBe(null)
  })

  it('is whole at what the log held when it was compared, and stays so when more is committed', () => {
    const { here, copy } = copyOf(1, 0)
    copy.compared(8)
    expect(copy.filling).toEqual({ sequence: 0, goal: 8, share: 0 })
    here.latest = 6
    copy.advanced()
    expect(copy.filling).toEqual({ sequence: 6, goal: 8, share: 0.75 })
    here.latest = 8
    copy.advanced()
    copy.advanced()
    expect(copy.filling).toBe(null)
  })

  it('counts from the first event that the log keeps', () => {
    const { copy } = copyOf(101, 125)
    copy.compared(200)
    expect(copy.filling).toMatchObject({ share: 0.25 })
  })

  it('lets those who wait go when it is whole, each time that it was thrown away', async () => {
    const { here, copy } = copyOf(1, 0)
    const { signal } = new AbortController()
    let passed = 0
    const pass = async (): Promise<void> => {
      await copy.untilComplete(signal)
      passed += 1
    }
    const first = pass()
    copy.compared(3)
    expect(passed).toBe(0)
    here.latest = 3
    copy.advanced()
    await first
    copy.emptied(5)
    here.latest = 4
    copy.advanced()
    const second = pass()
    await Promise.resolve()
    expect([passed, copy.filling]).toMatchObject([1, { goal: 5 }])
    here.latest = 5
    copy.advanced()
    await second
    await pass()
    expect(passed).toBe(3)
  })

  it('lets go whoever does not want to wait any more', async () => {
    const { copy } = copyOf(1, 0)
    await copy.untilComplete(AbortSignal.abort())
    const ended = new AbortController()
    const waiting = copy.untilComplete(ended.signal)
    ended.abort()
    await waiting
    expect(copy.filling).not.toBe(null)
  })
})
