import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { attemptOutcomes } from '../../../src/core/attempt-end.ts'
import { openDatabase } from '../../../src/storage/database.ts'
import { type AttemptRecord, attemptResults } from '../../../src/webhooks/attempts/attempt-record.ts'
import { AttemptStore, deliveryStates } from '../../../src/webhooks/attempts/attempt-store.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { EPOCH } from '../../support/store.ts'
import { recordOf } from '../../support/webhooks/attempted.ts'

function newStore(attempts: readonly AttemptRecord[] = []): AttemptStore {
  const store = new AttemptStore({ path: ':memory:', durable: false, onDamage: () => undefined })
  store.write(attempts, null)
  return store
}

const attemptsOf = (store: AttemptStore, parts: object = {}, id = 'ep_1') =>
  store.attempts(id, { outcomes: attemptOutcomes, before: null, limit: 1000, ...parts })
const deliveriesOf = (store: AttemptStore, parts: object = {}, id = 'ep_1') =>
  store.deliveries(id, { epoch: EPOCH, states: deliveryStates, before: null, limit: 1000, ...parts })

/** Few endpoints and events, so that attempts share them. */
const record: fc.Arbitrary<AttemptRecord> = fc
  .record({
    endpointId: fc.constantFrom('ep_1', 'ep_2'),
    sequence: fc.integer({ min: 1, max: 4 }),
    attempt: fc.integer({ min: 1, max: 3 }),
    atMs: fc.integer({ min: 1, max: 30 }),
    outcome: fc.constantFrom(...attemptOutcomes),
    result: fc.constantFrom(...attemptResults),
    status: fc.option(fc.integer({ min: 100, max: 599 })),
    response: fc.option(fc.constantFrom('', 'busy', String.fromCharCode(0, 0x20ac))),
  })
  .map(recordOf)
/** Attempts with equal keys are equal, as the state machine produces them. */
const history = fc.uniqueArray(record, {
  maxLength: 30,
  selector: ({ endpointId, atMs }) => `${endpointId} ${atMs}`,
})

describe('the attempt store', () => {
  test('lists the attempts of an endpoint unchanged, newest first, under any filter and limit', () => {
    fc.assert(
      fc.property(
        history,
        fc.subarray([...attemptOutcomes]),
        fc.integer({ min: 1, max: 8 }),
        (attempts, outcomes, limit) => {
          const store = newStore(attempts)
          const wanted = attempts
            .filter(({ endpointId, outcome }) => endpointId === 'ep_1' && outcomes.includes(outcome))
            .sort((one, other) => other.atMs - one.atMs)
            .map(({ endpointId: _, result: _r, dueMs: _d, ...rest }) => rest)
          const found: object[] = []
          for (let page = attemptsOf(store, { outcomes, limit }); page.length > 0; ) {
            found.push(...page.map((one) => ({ ...one })))
            page = attemptsOf(store, { outcomes, limit, before: page.at(-1) })
          }
          expect(found).toEqual(wanted)
          store.close()
        },
      ),
    )
  })

  test('gives the last success, and the durations of answered attempts since a moment, the newest first', () => {
    const outcomes = ['ok', 'server_error', 'timeout', 'ok', 'gone', 'ok'] as const
    const store = newStore(
      outcomes.map((outcome, at) =>
        recordOf({
          ...{ endpointId: 'ep_1', sequence: at + 1, attempt: 1, atMs: 10 * at, outcome },
          ...{ result: 'retry', status: null, response: null, durationMs: at },
        }),
      ),
    )
    expect(store.figures('ep_1', 0, 1000)).toEqual({ lastSuccessMs: 50, durationsMs: [5, 4, 3, 1, 0] })
    expect(store.figures('ep_1', 10, 2)).toEqual({ lastSuccessMs: 50, durationsMs: [5, 4] })
    expect(store.figures('ep_1', 45, 1000).durationsMs).toEqual([5])
    expect(store.figures('ep_2', 0, 1000)).toEqual({ lastSuccessMs: null, durationsMs: [] })
    store.close()
  })

  test('derives the state of each delivery from its latest attempt, in any order and with any number of repeats', () => {
    fc.assert(
      fc.property(history, fc.infiniteStream(fc.nat()), (attempts, chance) => {
        const shuffled = [...attempts, ...attempts.slice(0, 5)]
          .map((one) => ({ one, place: chance.next().value }))
          .sort((one, other) => one.place - other.place)
          .map(({ one }) => one)
        const [inOrder, mixed] = [newStore(attempts), newStore(shuffled)]
        for (const states of [deliveryStates, ['pending'], ['dead', 'delivered']] as const) {
          const latest = new Map(
            attempts
              .filter(({ endpointId }) => endpointId === 'ep_1')
              .sort((one, other) => one.atMs - other.atMs)
              .map((one) => [one.sequence, one]),
          )
          const wanted = [...latest.values()]
            .map(({ eventId, sequence, result, attempt, status }) => {
              const state = result === 'delivered' || result === 'dead' ? result : 'pending'
              return { eventId, sequence, state, attempts: attempt, nextMs: null, lastStatus: status }
            })
            .filter(({ state }) => states.some((one) => one === state))
            .sort((one, other) => other.sequence - one.sequence)
          for (const store of [inOrder, mixed]) {
            expect(deliveriesOf(store, { states }).map((one) => ({ ...one }))).toEqual(wanted)
          }
        }
        expect(attemptsOf(mixed)).toEqual(attemptsOf(inOrder))
        inOrder.close()
        mixed.close()
      }),
    )
  })

  test('paginates deliveries, and lists only those of one epoch of the log', () => {
    const store = newStore(
      [5, 1, 4, 2, 3].flatMap((sequence) => [
        recordOf({ sequence, result: sequence % 2 === 0 ? 'dead' : 'delivered' }),
        recordOf({ sequence, epoch: 'Epoch002', atMs: 9, eventId: 'other' }),
      ]),
    )
    const sequences = (parts: object) => deliveriesOf(store, parts).map(({ sequence }) => sequence)
    expect(sequences({ limit: 2 })).toEqual([5, 4])
    expect(sequences({ limit: 9, before: 4 })).toEqual([3, 2, 1])
    expect(sequences({ states: ['dead'], before: 4 })).toEqual([2])
    expect(deliveriesOf(store, { epoch: 'Epoch002' }).map(({ eventId }) => eventId)).toEqual(
      Array(5).fill('other'),
    )
    expect(deliveriesOf(store, {}, 'ep_unknown')).toEqual([])
    store.close()
  })

  test('returns the time of the next attempt', () => {
    const store = newStore([recordOf({ result: 'retry', dueMs: 77, status: null, outcome: 'dns' })])
    expect(deliveriesOf(store)).toMatchObject([{ state: 'pending', nextMs: 77, lastStatus: null }])
    store.close()
  })

  test('deletes old attempts in slices, with the deliveries and responses that only they refer to, and nothing else', () => {
    fc.assert(
      fc.property(
        history,
        fc.integer({ min: 1, max: 31 }),
        fc.integer({ min: 1, max: 4 }),
        (attempts, beforeMs, limit) => {
          const store = newStore(attempts)
          let forgotten = 0
          for (
            let count = store.forget('ep_1', beforeMs, limit);
            count > 0;
            count = store.forget('ep_1', beforeMs, limit)
          ) {
            expect(count).toBeLessThanOrEqual(limit)
            forgotten += count
          }
          const kept = attempts.filter(({ endpointId, atMs }) => endpointId === 'ep_2' || atMs >= beforeMs)
          const fresh = newStore(kept)
          expect(forgotten).toBe(attempts.length - kept.length)
          for (const id of ['ep_1', 'ep_2']) {
            expect(attemptsOf(store, {}, id)).toEqual(attemptsOf(fresh, {}, id))
            expect(deliveriesOf(store, {}, id)).toEqual(deliveriesOf(fresh, {}, id))
          }
          store.close()
          fresh.close()
        },
      ),
    )
  })

  test('goes on with the file of a build that did not store the webhook-id, and that build with ours', () => {
    using directory = temporaryDirectory()
    const path = join(directory.path, 'attempts.db')
    const options = { path, durable: false, onDamage: () => undefined }
    new AttemptStore(options).close()
    const older = openDatabase({ path, durable: false })
    older.exec('ALTER TABLE deliveries DROP COLUMN webhook_id')
    const insert = (sequence: number): void =>
      older
        .prepare(
          `INSERT INTO deliveries(endpoint, epoch, sequence, event_id, state, attempts, next_ms, last_status, last_ms)
           VALUES (1, ?, ?, ?, 'delivered', 1, NULL, 204, 5)`,
        )
        .run(EPOCH, sequence, `e${sequence}`)
    older.exec("INSERT INTO endpoints(number, id) VALUES (1, 'ep_1')")
    insert(1)
    const store = new AttemptStore(options)
    store.write([recordOf({ sequence: 2, webhookId: 'msg_2' })], null)
    expect(attemptsOf(store)).toMatchObject([{ eventId: 'e2', webhookId: 'msg_2' }])
    store.close()
    insert(3)
    older.close()
    expect(deliveriesOf(new AttemptStore(options)).map(({ eventId }) => eventId)).toEqual(['e3', 'e2', 'e1'])
  })

  test('deletes all rows of an endpoint', () => {
    const store = newStore([recordOf({ outcome: 'dns', response: 'x' }), recordOf({ endpointId: 'ep_2' })])
    expect(store.endpointIds()).toEqual(['ep_1', 'ep_2'])
    while (store.forget('ep_1', null, 1) > 0);
    expect([store.endpointIds(), attemptsOf(store), deliveriesOf(store)]).toEqual([['ep_2'], [], []])
    store.write([recordOf()], null)
    expect([attemptsOf(store).length, attemptsOf(store, {}, 'ep_2').length]).toEqual([1, 1])
    store.close()
  })
})
