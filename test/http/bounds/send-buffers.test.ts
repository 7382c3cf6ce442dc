import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  LARGE_BATCH_BYTES,
  LARGE_BUDGET_BYTES,
  type Reservation,
  SendBuffers,
  SMALL_BATCH_BYTES,
} from '../../../src/http/bounds/send-buffers.ts'

/** Frame batches that are created, retained by some readers, and released by them. */
type Step = { kind: 'make' } | { kind: 'take'; readers: number } | { kind: 'let go' }

const someStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Step>({ kind: 'make' }) },
  {
    weight: 3,
    arbitrary: fc.integer({ min: 0, max: 3 }).map<Step>((readers) => ({ kind: 'take', readers })),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'let go' }) },
)

describe('send-buffer accounting', () => {
  test('never exceeds the budget plus a small batch for each client, whatever clients retain and release', () => {
    fc.assert(
      fc.property(fc.array(someStep, { minLength: 200, maxLength: 600 }), (steps) => {
        const sendBuffers = new SendBuffers()
        const making: Reservation[] = []
        const held: Buffer[] = []
        for (const step of steps) {
          if (step.kind === 'make') making.push(sendBuffers.reserve())
          const made = step.kind === 'take' ? making.shift() : undefined
          if (made !== undefined && step.kind === 'take') {
            const bytes = Buffer.allocUnsafeSlow(made.maxBytes)
            for (let reader = 0; reader < step.readers; reader++) {
              sendBuffers.retain(bytes)
              held.push(bytes)
            }
            made.end()
          }
          const gone = step.kind === 'let go' ? held.shift() : undefined
          if (gone !== undefined) sendBuffers.release(gone)
          const blocks = [...new Set(held)].map(({ length }) => length)
          const large = blocks.filter((length) => length === LARGE_BATCH_BYTES)
          expect(large.length * LARGE_BATCH_BYTES).toBeLessThanOrEqual(LARGE_BUDGET_BYTES)
          expect(blocks.every((length) => length <= LARGE_BATCH_BYTES)).toBe(true)
        }
      }),
      { numRuns: 20, endOnFailure: true },
    )
  })

  test('makes batches small once the budget is used up, and large again when it is not', () => {
    const sendBuffers = new SendBuffers()
    const blocks = Array.from({ length: LARGE_BUDGET_BYTES / LARGE_BATCH_BYTES }, () => {
      const { maxBytes, end } = sendBuffers.reserve()
      const bytes = Buffer.allocUnsafeSlow(maxBytes)
      sendBuffers.retain(bytes)
      end()
      return bytes
    })
    expect(blocks.every(({ length }) => length === LARGE_BATCH_BYTES)).toBe(true)
    const small = sendBuffers.reserve()
    expect(small.maxBytes).toBe(SMALL_BATCH_BYTES)
    small.end()
    const [first = Buffer.alloc(0)] = blocks
    sendBuffers.release(first)
    expect(sendBuffers.reserve().maxBytes).toBe(LARGE_BATCH_BYTES)
  })

  test('counts a shared buffer once until its last holder releases it', () => {
    const sendBuffers = new SendBuffers()
    const shared = Buffer.allocUnsafeSlow(LARGE_BUDGET_BYTES - LARGE_BATCH_BYTES)
    const size = (): number => {
      const { maxBytes, end } = sendBuffers.reserve()
      end()
      return maxBytes
    }
    for (let reader = 0; reader < 1000; reader++) sendBuffers.retain(shared)
    expect(size()).toBe(LARGE_BATCH_BYTES)
    sendBuffers.retain(Buffer.alloc(1))
    for (let reader = 0; reader < 999; reader++) sendBuffers.release(shared)
    expect(size()).toBe(SMALL_BATCH_BYTES)
    sendBuffers.release(shared)
    expect(size()).toBe(LARGE_BATCH_BYTES)
  })
})
