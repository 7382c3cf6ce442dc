/** Keeps spans in memory, as the port says: every trace is sampled. */
import type { TraceContext } from '../../src/obs/trace-context.ts'
import type { OpenSpan, SpanAttributes, SpanName, SpanStart, Tracing } from '../../src/obs/tracing.ts'

export interface KeptSpan {
  name: SpanName
  trace: TraceContext
  parentId: string | null
  attributes: SpanAttributes
  startMs: number
  /** null while it is open. */
  endMs: number | null
  failure: string | undefined
  links: readonly TraceContext[]
}

export function keptSpans(): { spans: KeptSpan[]; tracing: Tracing } {
  const spans: KeptSpan[] = []
  const open = (name: SpanName, parent: TraceContext | null, start: SpanStart): OpenSpan => {
    const { startMs, attributes = {}, links = [] } = start
    const spanId = (spans.length + 1).toString(16).padStart(16, '0')
    const trace = { traceId: parent?.traceId ?? spanId.padStart(32, '0'), spanId }
    const parentId = parent?.spanId ?? null
    const kept: KeptSpan = {
      ...{ name, trace, parentId, attributes, startMs, links, endMs: null, failure: undefined },
    }
    spans.push(kept)
    return {
      trace,
      set: (more) => void Object.assign(kept, { attributes: { ...kept.attributes, ...more } }),
      child: (child, given) => open(child, trace, given),
      end(endMs, failure) {
        if (kept.endMs !== null) throw new Error(`${name} ended twice`)
        Object.assign(kept, { endMs, failure })
      },
    }
  }
  const begin: Tracing['begin'] = (name, start) => open(name, null, start)
  return { spans, tracing: { begin, goOn: open, close: async () => undefined } }
}
