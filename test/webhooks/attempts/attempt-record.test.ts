import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { attemptOutcomes } from '../../../src/core/attempt-end.ts'
import {
  type AttemptRecord,
  attemptPage,
  attemptRecord,
  attemptResults,
  readAttemptPage,
} from '../../../src/webhooks/attempts/attempt-record.ts'
import { attemptPhases } from '../../../src/webhooks/send/attempt-timer.ts'
import { EPOCH } from '../../support/store.ts'
import { attemptedOf, recordOf } from '../../support/webhooks/attempted.ts'
import { answer } from '../../support/webhooks/webhook-world.ts'

const count = fc.maxSafeNat()
const record: fc.Arbitrary<AttemptRecord> = fc.record({
  endpointId: fc.string(),
  epoch: fc.constant(EPOCH),
  sequence: count,
  eventId: fc.string(),
  webhookId: fc.option(fc.string()),
  attempt: count,
  atMs: count,
  durationMs: count,
  status: fc.option(fc.integer({ min: 100, max: 999 })),
  outcome: fc.constantFrom(...attemptOutcomes),
  phase: fc.constantFrom(...attemptPhases),
  result: fc.constantFrom(...attemptResults),
  dueMs: fc.option(count),
  response: fc.option(fc.string()),
})

describe('an attempt record in the journal', () => {
  test('decodes to exactly what was encoded', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 5 }), (attempts) => {
        const stored = JSON.parse(JSON.stringify(attemptPage(EPOCH, attempts)))
        expect(readAttemptPage(stored)).toEqual({ attempts, unreadable: 0 })
      }),
    )
  })

  test('does not tell a name that leads to a refused address from one that does not exist', () => {
    const outcomeOfFault = (fault: 'dns' | 'blocked_name' | 'blocked') =>
      attemptRecord(attemptedOf({ end: { kind: 'failed', fault } }), 0).outcome
    expect([outcomeOfFault('dns'), outcomeOfFault('blocked_name'), outcomeOfFault('blocked')]).toEqual([
      'dns',
      'dns',
      'blocked',
    ])
  })

  test('holds the outcome of the delivery and the time of the next attempt', () => {
    const kept = (parts: Parameters<typeof attemptedOf>[0]) => {
      const attempted = attemptedOf({ sequence: 7, attempt: 2, startedMs: 500, ...parts })
      return attemptRecord(attempted, 1000)
    }
    const common = { sequence: 7, attempt: 2, atMs: 500 }
    expect(kept({})).toEqual(recordOf({ ...common }))
    expect(
      kept({ end: answer(500), verdict: { next: 'retry', delayMs: 30_000, asked: 0 }, response: 'busy' }),
    ).toEqual(
      recordOf({
        ...common,
        status: 500,
        outcome: 'server_error',
        result: 'retry',
        dueMs: 31_000,
        response: 'busy',
      }),
    )
    expect(kept({ end: answer(410), verdict: { next: 'disable' } })).toMatchObject({
      outcome: 'gone',
      result: 'gone',
      dueMs: null,
    })
    const dead = kept({ end: { kind: 'failed', fault: 'dns' }, verdict: { next: 'dead' } })
    expect(dead).toMatchObject({ status: null, outcome: 'dns', result: 'dead', dueMs: null })
  })

  test('is compact: below 240 bytes for a successful delivery', () => {
    const eventId = 'urn:newsml:example:2026-01-06:1234567890'
    const plain = recordOf({ endpointId: `ep_${'0'.repeat(21)}`, eventId, sequence: 123_456, atMs: 1.8e12 })
    const of = (count: number) => JSON.stringify(attemptPage(EPOCH, Array(count).fill(plain))).length
    expect(of(2) - of(1)).toBeLessThan(240)
  })

  test.each<[unknown, number]>([
    [null, 1],
    ['text', 1],
    [{ epoch: EPOCH }, 1],
    [{ epoch: 5, attempts: [] }, 1],
    [{ epoch: EPOCH, attempts: [null, 3, {}] }, 3],
  ])('is skipped if it is invalid: %j', (value, unreadable) => {
    expect(readAttemptPage(value)).toEqual({ attempts: [], unreadable })
  })

  test('of an unknown version leaves the records beside it readable', () => {
    const { epoch, attempts } = attemptPage(EPOCH, [recordOf(), recordOf({ sequence: 2 })])
    const [first, second] = attempts
    const odd = [
      { ...first, outcome: 'melted' },
      { ...first, dueMs: '5' },
      { ...first, sequence: -1 },
    ]
    expect(readAttemptPage({ epoch, attempts: [...odd, { ...second, colour: 'red' }] })).toEqual({
      attempts: [recordOf({ sequence: 2 })],
      unreadable: 3,
    })
  })
})
