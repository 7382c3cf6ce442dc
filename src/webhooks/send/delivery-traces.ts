/** Continues the traces of polls: each attempt to deliver an event that a traced poll brought is a span of the poll's trace. */
import { outcomeOf } from '../../core/attempt-end.ts'
import type { TraceContext } from '../../obs/trace-context.ts'
import type { Tracing } from '../../obs/tracing.ts'
import type { AttemptReport } from './attempt.ts'

/** Finds the trace that the event at a sequence keeps; null where it keeps none. */
export type TraceOf = (sequence: number) => TraceContext | null

/** What a span says of its attempt. */
interface TracedAttempt {
  endpointId: string
  webhookId: string
  /** From 1. */
  attempt: number
  startMs: number
}

/** A span that has begun. */
interface DeliverySpan {
  trace: TraceContext
  end(report: Pick<AttemptReport, 'end' | 'phase' | 'startedMs' | 'durationMs'>): void
}

/** What traces attempts. */
export interface DeliveryTraces {
  /**
   * The span of an attempt to send these events; null where none of them was traced. Of a batch the first event that was has the
   * span in its trace, and the span has links to the others.
   */
  begin(events: readonly { sequence?: number }[], about: TracedAttempt): DeliverySpan | null
}

/** Spans of attempts, recorded by `tracing`. */
export function createDeliveryTraces(tracing: Tracing, traceOf: TraceOf): DeliveryTraces {
  return {
    begin(events, { endpointId, webhookId, attempt, startMs }) {
      const sequences = events.flatMap(({ sequence }) => sequence ?? [])
      const [parent, ...links] = distinct(sequences.flatMap((sequence) => traceOf(sequence) ?? []))
      if (parent === undefined) return null
      const attributes = {
        'webhook.endpoint': endpointId,
        'webhook.id': webhookId,
        attempt,
        events: events.length,
        'sequence.first': sequences[0],
        'sequence.last': sequences.at(-1),
      }
      const span = tracing.goOn('deliver', parent, { startMs, attributes, kind: 'client', links })
      return {
        trace: span.trace,
        end({ end, phase, startedMs, durationMs }) {
          const endMs = Math.max(startMs, startedMs + durationMs)
          if (end.kind === 'aborted' || end.kind === 'no_socket') return span.end(endMs, end.kind)
          const outcome = outcomeOf(end)
          const status = end.kind === 'answered' ? end.status : undefined
          span.set({ outcome, phase, 'http.response.status_code': status })
          span.end(endMs, outcome === 'ok' ? undefined : outcome)
        },
      }
    },
  }
}

/** Each span once: a poll brings many events. */
function distinct(traces: readonly TraceContext[]): TraceContext[] {
  return [...new Map(traces.map((trace) => [trace.spanId, trace])).values()]
}
