/**
 * Sums the time of every request of this process's kafkajs producers, from kafkajs's own events. It shows where the
 * time of a transaction is spent.
 */
import { Kafka, type ProducerConfig, type RequestEvent } from 'kafkajs'

/** The requests of a transaction by kafkajs's names; each transaction looks up the coordinator twice. */
const requestNames = ['GroupCoordinator', 'AddPartitionsToTxn', 'Produce', 'EndTxn'] as const
/** The rest of its time: building and encoding records, waits between requests. */
const REST = 'rest'
type Phase = (typeof requestNames)[number] | typeof REST

/** One transaction: its total time and its phases, ms; requests in it. */
export interface Trace {
  tookMs: number
  phaseMs: Record<Phase, number>
  requests: number
}

/** Listens from now on to every producer made from now on. */
export function watchRequests(): { trace(work: () => Promise<unknown>): Promise<Trace> } {
  const seen: RequestEvent['payload'][] = []
  const { producer: make } = Kafka.prototype
  Kafka.prototype.producer = function (this: Kafka, options?: ProducerConfig) {
    const producer = make.call(this, options)
    producer.on(producer.events.REQUEST, ({ payload }) => void seen.push(payload))
    return producer
  }
  return {
    async trace(work) {
      seen.length = 0
      const startedAt = performance.now()
      await work()
      const tookMs = performance.now() - startedAt
      const spent = (name: Phase): number =>
        seen.filter(({ apiName }) => apiName === name).reduce((sum, { duration }) => sum + duration, 0)
      const inRequests = requestNames.reduce((sum, name) => sum + spent(name), 0)
      const phaseMs = {
        GroupCoordinator: spent('GroupCoordinator'),
        AddPartitionsToTxn: spent('AddPartitionsToTxn'),
        Produce: spent('Produce'),
        EndTxn: spent('EndTxn'),
        rest: tookMs - inRequests,
      }
      return { tookMs, phaseMs, requests: seen.length }
    },
  }
}

/** Formats one line: the mean total, of each phase, and of the number of requests. */
export function meanPhases(name: string, traces: readonly Trace[]): string {
  const mean = (of: (trace: Trace) => number): number =>
    traces.reduce((sum, trace) => sum + of(trace), 0) / traces.length
  const names: Phase[] = [...requestNames, REST]
  const parts = names.map((phase) => `${phase} ${mean(({ phaseMs }) => phaseMs[phase]).toFixed(1)}`)
  const requests = mean((trace) => trace.requests).toFixed(1)
  const whole = mean(({ tookMs }) => tookMs).toFixed(1)
  return `  ${name.padEnd(40)} ${whole.padStart(6)} ms = ${parts.join(' + ')}  (${requests} requests)`
}
