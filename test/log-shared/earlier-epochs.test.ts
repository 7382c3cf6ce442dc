import { describe, expect, test } from 'vitest'
import { sharedThrough } from '../../src/archive/store/earlier-epochs.ts'
import { earlierAfterRestore } from '../../src/log-shared/earlier-epochs.ts'

const log = (epoch: string, through: number | null = null, epochs: Record<string, number> = {}) => ({
  epoch,
  earlier: through === null ? null : { through, epochs },
})

describe('the epochs before a restore', () => {
  test('share what the backup holds', () => {
    const earlier = earlierAfterRestore(1900, log('A'), null)
    expect(earlier).toEqual({ through: 1900, epochs: { A: 1900 } })
    expect([
      sharedThrough(earlier, 'A'),
      sharedThrough(earlier, 'unknown'),
      sharedThrough(null, 'A'),
    ]).toEqual([1900, 1900, null])
  })

  test('share never more than an earlier restore kept of them', () => {
    const backup = log('B', 500, { A: 500 })
    expect(earlierAfterRestore(1900, backup, log('B', 500, { A: 500 }))).toEqual({
      through: 1900,
      epochs: { A: 500, B: 1900 },
    })
    expect(earlierAfterRestore(300, log('A'), null).epochs).toEqual({ A: 300 })
  })

  test('of a log that was restored from an older backup share only what that backup held', () => {
    const present = log('B', 1000, { A: 1000 })
    expect(earlierAfterRestore(1500, log('A'), present).epochs).toEqual({ A: 1500, B: 1000 })
    expect(earlierAfterRestore(800, log('A'), present).epochs).toEqual({ A: 800, B: 800 })
  })

  test('of a log that the backup continues share what the backup kept of it', () => {
    expect(earlierAfterRestore(1500, log('B', 400, { A: 400 }), log('A')).epochs).toEqual({ A: 400, B: 1500 })
  })

  test('of an unrelated log share at most what the backup holds', () => {
    expect(earlierAfterRestore(1500, log('A'), log('Z', 9, { Y: 9 })).epochs).toEqual({
      A: 1500,
      Z: 1500,
      Y: 9,
    })
  })
})
