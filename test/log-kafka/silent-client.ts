/** Simulates a Kafka client whose consumer emits the group events that a test chooses. */
import type { Consumer, Kafka } from 'kafkajs'
import type { KafkaSession } from '../../src/log-kafka/client/client.ts'

/** The topic whose partitions the group assigns. */
export const TOPIC = 't'

/** A client whose consumer joins at once and gets these partitions. `say` emits one of the consumer's events. */
export function silentClient(partitions: readonly number[] = [0]) {
  const listeners = new Map<string, (event: unknown) => void>()
  const say = (event: 'crash' | 'join' | 'beat' | 'rebalancing', payload: unknown = {}): void =>
    listeners.get(event)?.({ payload })
  const join = (memberId: string, given: readonly number[]): void =>
    say('join', { memberId, memberAssignment: { [TOPIC]: given } })
  let ended = 0
  let stops = 0
  const consumer = {
    events: { CRASH: 'crash', GROUP_JOIN: 'join', HEARTBEAT: 'beat', REBALANCING: 'rebalancing' },
    on: (event: string, listener: (event: unknown) => void) => listeners.set(event, listener),
    connect: async () => undefined,
    subscribe: async () => undefined,
    run: async () => join('me', partitions),
    pause: () => undefined,
    stop: async () => void stops++,
  } as unknown as Consumer
  const session = {
    kafka: { consumer: () => consumer } as unknown as Kafka,
    partitions: { leaveGroup: async () => undefined } as unknown as KafkaSession['partitions'],
    end() {
      ended += 1
    },
  } as KafkaSession
  return { session, say, join, ended: () => ended, stops: () => stops }
}
