/** Simulates a Kafka client whose consumer emits the group events that a test chooses. */
import type { Consumer, ConsumerConfig, Kafka } from 'kafkajs'
import type { KafkaSession } from '../../src/log-kafka/client/client.ts'

/** The topic whose partitions the group assigns. */
export const TOPIC = 't'

/**
 * A client whose consumer joins at once and gets these partitions. `say` emits one of the consumer's events; `left`: the
 * members that were removed from the group.
 */
export function silentClient(partitions: readonly number[] = [0]) {
  const listeners = new Map<string, (event: unknown) => void>()
  const say = (event: 'crash' | 'join' | 'beat' | 'rebalancing', payload: unknown = {}): void =>
    listeners.get(event)?.({ payload })
  let sendMetadata = (): void => undefined
  const join = (memberId: string, given: readonly number[]): void => {
    sendMetadata()
    say('join', { memberId, memberAssignment: { [TOPIC]: given } })
  }
  let ended = 0
  let stops = 0
  const left: string[] = []
  const consumer = {
    events: { CRASH: 'crash', GROUP_JOIN: 'join', HEARTBEAT: 'beat', REBALANCING: 'rebalancing' },
    on: (event: string, listener: (event: unknown) => void) => listeners.set(event, listener),
    connect: async () => undefined,
    subscribe: async () => undefined,
    run: async () => join('me', partitions),
    pause: () => undefined,
    stop: async () => void stops++,
  } as unknown as Consumer
  const openConsumer = ({ partitionAssigners = [] }: ConsumerConfig): Consumer => {
    const [assigner] = partitionAssigners
    // As kafkajs does at every join.
    sendMetadata = () => void assigner?.({} as never).protocol({ topics: [TOPIC] })
    return consumer
  }
  const session = {
    kafka: { consumer: openConsumer } as unknown as Kafka,
    partitions: {
      leaveGroup: async (_groupId: string, memberId: string) => void left.push(memberId),
    } as unknown as KafkaSession['partitions'],
    end() {
      ended += 1
    },
  } as KafkaSession
  return { session, say, join, left, ended: () => ended, stops: () => stops }
}
