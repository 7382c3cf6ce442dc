/** Mutants of the webhooks: the deliveries of an endpoint, what they write, what they send and to where. */
import type { Mutant } from './mutant.ts'

const ENDPOINT_MACHINE = 'src/webhooks/delivery-state/endpoint-machine.ts'
const endpointTest = (title: string) => ({
  file: 'test/webhooks/delivery-state/endpoint-machine.test.ts',
  title,
})
const batchTest = (title: string) => ({
  file: 'test/webhooks/delivery-state/endpoint-batches.test.ts',
  title,
})

/** Mutants of `src/webhooks`, and of the headers that it sends. */
export const webhookMutants: readonly Mutant[] = [
  {
    name: 'retry-with-the-first-timestamp',
    file: 'src/core/delivery-headers.ts',
    before: '  const timestampSeconds = Math.floor(nowMs / 1000)\n',
    after: `  const firstTries = Object.assign(globalThis, { firstTries: { ...Reflect.get(globalThis, 'firstTries') } }).firstTries
  const timestampSeconds = (firstTries[webhookId] ??= Math.floor(nowMs / 1000))
`,
    breaks:
      'A retry carries the time of its own attempt: receivers refuse a timestamp older than five minutes.',
    killedBy: {
      file: 'test/webhooks/send/delivery.test.ts',
      title:
        'a retry carries the time of its own attempt and a signature over it, or receivers refuse it as a replay',
    },
  },
  {
    name: 'retry-without-its-row',
    file: ENDPOINT_MACHINE,
    before:
      'const changes = [{ key: retryKey(this.#endpointId, sequence), value }, ...this.dead.revived(sequence)]',
    after: 'const changes = this.dead.revived(sequence)',
    breaks: 'The cursor passes a delivery that failed only if a durable retry row holds it.',
    killedBy: endpointTest(
      'retries a failed delivery exactly when it is due, and writes one row per attempt',
    ),
  },
  {
    name: 'slot-free-before-durable',
    file: ENDPOINT_MACHINE,
    before: '    this.cursors.done(sequence)\n',
    after: '    this.cursors.done(sequence)\n    this.#inFlight.delete(sequence)\n',
    breaks:
      'A slot is free only when the outcome that ended in it is durable: a crash repeats no more than the slots.',
    killedBy: endpointTest(
      'has no more deliveries in flight than slots, and frees a slot only when the outcome is durable',
    ),
  },
  {
    name: 'row-removed-before-position',
    file: ENDPOINT_MACHINE,
    before: 'changes: [...puts, ...positions.changes, ...removals],',
    after: 'changes: [...removals, ...puts, ...positions.changes],',
    breaks: 'A retry row is removed only after the durable position has passed its delivery.',
    killedBy: endpointTest(
      'writes its position before it removes a row that the durable position has not passed',
    ),
  },
  {
    name: 'position-of-what-was-read',
    file: 'src/webhooks/delivery-state/endpoint-cursors.ts',
    before: 'const value = { cursor: cursorAt(progress.base), ahead: progress.ahead(), ...condition }',
    after: 'const value = { cursor: cursorAt(progress.readTo), ahead: progress.ahead(), ...condition }',
    breaks: 'The cursor of an endpoint never passes an open delivery.',
    killedBy: endpointTest(
      'stores deliveries completed out of order beside its position, which stays before the oldest open one',
    ),
  },
  {
    name: 'dead-without-a-record',
    file: 'src/webhooks/delivery-state/endpoint-dead.ts',
    before:
      "return [{ key: deadKey(this.#endpointId, sequence), value: { kind: 'dead', ...row } }, ...oldest]",
    after: 'return oldest',
    breaks: 'A delivery is given up only with a dead-delivery record.',
    killedBy: endpointTest('gives up a delivery after the ninth attempt, with a dead-delivery record'),
  },
  {
    name: 'retry-before-its-row-is-durable',
    file: 'src/webhooks/delivery-state/endpoint-backlog.ts',
    before: 'if (!this.#unwritten.has(sequence) && !this.#isInFlight(sequence)) this.retryAt(sequence, 0)',
    after: 'if (!this.#isInFlight(sequence)) this.retryAt(sequence, 0)',
    breaks: 'With `order: issuer`, an event is sent only when its own row is durable.',
    killedBy: endpointTest(
      'sends an event that had to wait only when its own row is durable, even if the earlier event has ended',
    ),
  },
  {
    name: 'gone-endpoint-keeps-sending',
    file: ENDPOINT_MACHINE,
    before:
      "if (verdict.next === 'disable' && this.#config.isActive) this.#disableReason = 'gone'\n    else if",
    after: 'if',
    breaks: 'An endpoint that answers 410 gets nothing more, and keeps its pending deliveries.',
    killedBy: endpointTest('that answers 410 is sent nothing more, and keeps its pending deliveries'),
  },
  {
    name: 'probe-with-a-whole-batch',
    file: ENDPOINT_MACHINE,
    before: 'this.#condition.pace.isProbing ? 1 : (this.#config.maxBatch ?? 1)',
    after: 'this.#config.maxBatch ?? 1',
    breaks: 'While nobody answers a probe has one event, so no refused event hides that somebody is there.',
    killedBy: batchTest('while nobody answers a probe has one event; the first answer lets batches go again'),
  },
  {
    name: 'failed-batch-comes-apart',
    file: ENDPOINT_MACHINE,
    before: 'const isBatch = deliveries.size > 1 && isTriedTogether(row)',
    after: 'const isBatch = deliveries.size < 1 && isTriedTogether(row)',
    breaks: 'A batch that failed is tried again as a whole, under the same webhook-id.',
    killedBy: batchTest('gets a failed batch again with the same events, never with others'),
  },
  {
    name: 'dead-forgotten-without-end',
    file: 'src/webhooks/webhooks.ts',
    before: 'dead.sort((one, other) => one - other)[wanted - 1]',
    after: 'dead.sort((one, other) => other - one)[wanted - 1]',
    breaks:
      'A tenant that has too many rows loses its oldest dead deliveries, and no more than it has too many.',
    killedBy: {
      file: 'test/webhooks/webhooks.test.ts',
      title:
        'forgets the oldest dead deliveries of a tenant that has too many rows, and says so, in their health for good',
    },
  },
  {
    name: 'every-lost-request-again',
    file: 'src/webhooks/send/attempt.ts',
    before: 'isLost(end, timer) && borrowed.hadIdled()',
    after: 'isLost(end, timer)',
    breaks:
      'A receiver that breaks its connections is tried by the schedule: only what idled is replaced at once.',
    killedBy: {
      file: 'test/webhooks/send/attempt-idle-connection.test.ts',
      title: 'one that is lost with a connection in steady use is a failed attempt',
    },
  },
  {
    name: 'body-of-another-event',
    file: 'src/webhooks/send/delivery.ts',
    before: "if (found.kind === 'later' || found.event.matched.cursor !== cursor) return { kind: 'later' }",
    after: "if (found.kind === 'later') return { kind: 'later' }",
    breaks: 'A delivery is never sent with the body of the event that a new epoch has at its sequence.',
    killedBy: {
      file: 'test/webhooks/send/delivery.test.ts',
      title: 'a delivery is not sent with the body of another event that has its sequence in a new epoch',
    },
  },
  {
    name: 'connected-address-not-checked',
    file: 'src/webhooks/address/connector.ts',
    before: 'if (misplaced === null) return socket',
    after: 'if (misplaced === null || misplaced !== null) return socket',
    breaks: 'No webhook request reaches a refused address; the check is on the address connected to.',
    killedBy: {
      file: 'test/webhooks/address/reach.test.ts',
      title: 'a socket connected to another address than the checked one receives no byte',
    },
  },
  {
    name: 'connected-without-a-check',
    file: 'src/webhooks/address/connector.ts',
    before: "if (refusal !== null) throw new ConnectFault('blocked',",
    after: "if (refusal === undefined) throw new ConnectFault('blocked',",
    breaks: 'No caller can open a connection to an address that it did not check, not even over a proxy.',
    killedBy: {
      file: 'test/webhooks/address/connector.test.ts',
      title:
        'no connection is begun to a refused address that a caller did not check, direct or behind the proxy',
    },
  },
  {
    name: 'cancelled-replay-read-on',
    file: 'src/webhooks/worker/event-reader.ts',
    before: ' || machine.cursors.replay?.id !== replay.id) return',
    after: ') return',
    breaks: 'Events that are being read for a replay when it is cancelled never count for the next replay.',
    killedBy: {
      file: 'test/webhooks/worker/cancelled-replay.test.ts',
      title:
        'events that are being read for a replay when it is cancelled are not sent, nor taken for the next replay',
    },
  },
]
