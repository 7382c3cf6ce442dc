/** Creates attempts as shards report them, for tests of the journal and of the attempt lists. */
import type { AttemptEnd } from '../../../src/core/attempt-end.ts'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { webhookId } from '../../../src/core/signature.ts'
import type { AttemptRecord } from '../../../src/webhooks/attempts/attempt-record.ts'
import type { DeliveryDecision } from '../../../src/webhooks/delivery-state/outcome.ts'
import type { Attempted } from '../../../src/webhooks/send/delivery.ts'
import { EPOCH } from '../store.ts'
import { answer, endpointOf } from './webhook-world.ts'

/** The members of an attempt that a test sets; the default is a delivered first attempt. */
export interface AttemptedParts {
  endpointId?: string
  epoch?: string
  sequence?: number
  eventId?: string
  attempt?: number
  startedMs?: number
  end?: AttemptEnd
  verdict?: DeliveryDecision
  response?: string | null
}

/** A finished attempt. */
export function attemptedOf(parts: AttemptedParts = {}): Attempted {
  const { endpointId = 'ep_1', epoch = EPOCH, sequence = 1, attempt = 1, startedMs = 0 } = parts
  const { eventId = `e${sequence}`, end = answer(204), response = null } = parts
  return {
    endpoint: endpointOf(endpointId),
    delivery: {
      sequence,
      eventId,
      subject: 'alpha',
      cursor: encodeCursor({ epoch, sequence, timeMs: 0 }),
      recordedMs: 0,
    },
    webhookId: webhookId(endpointId, eventId, Buffer.from('{}')),
    attempt,
    sort: attempt === 1 ? 'first' : 'retry',
    end,
    report: { end, phase: 'body', startedMs, durationMs: 12, response, detail: null },
    verdict: parts.verdict ?? { next: 'delivered' },
  }
}

/** An attempt as the journal stores it: a delivered first attempt, changed by the given members. */
export function recordOf(parts: Partial<AttemptRecord> = {}): AttemptRecord {
  const { sequence = 1 } = parts
  return {
    endpointId: 'ep_1',
    epoch: EPOCH,
    sequence,
    eventId: `e${sequence}`,
    webhookId: webhookId('ep_1', `e${sequence}`, Buffer.from('{}')),
    attempt: 1,
    atMs: 1000 * sequence,
    durationMs: 12,
    status: 204,
    outcome: 'ok',
    phase: 'body',
    result: 'delivered',
    dueMs: null,
    response: null,
    ...parts,
  }
}
