/** Builds endpoint state machines for tests, with shortcuts for what their worker does. */
import type { AttemptEnd } from '../../../src/core/attempt-end.ts'
import { encodeCursor } from '../../../src/core/cursor.ts'
import type { DeliveryRow, RetryRow } from '../../../src/webhooks/delivery-state/delivery-rows.ts'
import { EndpointMachine } from '../../../src/webhooks/delivery-state/endpoint-machine.ts'
import type { Loaded, MachineConfig, Matched } from '../../../src/webhooks/delivery-state/endpoint-state.ts'

/** How attempts end. */
export const OK: AttemptEnd = { kind: 'answered', status: 204, retryAfter: null }
export const BROKEN: AttemptEnd = { kind: 'answered', status: 500, retryAfter: null }
export const UNCONNECTED: AttemptEnd = { kind: 'failed', fault: 'connect' }
export const GONE: AttemptEnd = { kind: 'answered', status: 410, retryAfter: null }
const NEW: Loaded = {
  base: 0,
  isWritten: true,
  ahead: [],
  failingSinceMs: null,
  retries: new Map(),
  dead: [],
  replays: [],
}
/** Settings of an endpoint. */
export const PLAIN: MachineConfig = {
  maxConcurrency: 4,
  rateLimit: null,
  order: 'none',
  maxBatch: null,
  isActive: true,
  target: 'a',
}

/** The cursor of a sequence. */
export const cursorAt = (sequence: number) => encodeCursor({ epoch: 'Epoch001', sequence, timeMs: 0 })
/** An event that matches. */
export const event = (sequence: number, subject = 'alpha'): Matched => ({
  sequence,
  subject,
  eventId: `e${sequence}`,
  cursor: cursorAt(sequence),
  recordedMs: sequence,
})

/** A row of a delivery with an attempt due at 0. */
export function rowOf({ sequence, ...rest }: Matched, { tries = 1 } = {}): [number, RetryRow] {
  return [sequence, { kind: 'retry', ...rest, tries, dueMs: 0, lastStatus: 500 }]
}

/** A machine with shortcuts for what its worker does. */
export function machineOf(config: Partial<MachineConfig> = {}, loaded: Partial<Loaded> = {}) {
  const machine = new EndpointMachine('ep_1', { ...NEW, ...loaded }, { ...PLAIN, ...config })
  const offer = (...events: Matched[]): void => {
    for (const one of events) machine.offer(one, 0)
  }
  const write = (): ReadonlyMap<string, DeliveryRow | null> => {
    const batch = machine.take(cursorAt, false)
    batch?.settled()
    return new Map(batch?.changes.map(({ key, value }) => [key, value]))
  }
  return { machine, offer, write }
}

/** Sends what may be sent now, and returns the sequences. */
export function sent(machine: EndpointMachine, nowMs = 0): number[] {
  const starts: number[] = []
  for (let start = machine.next(nowMs); start !== null; start = machine.next(nowMs)) {
    starts.push(start.delivery.sequence)
  }
  return starts
}

/** The arguments of `ended` besides the outcome, of a request that left. */
export const at = (nowMs: number, isSent = true) => ({ nowMs, chance: 0.5, isSent })
