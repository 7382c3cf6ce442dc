/** Defines where a span stands in a trace, and its texts: the W3C header `traceparent`, and the form that events keep. */

/** A span of a trace that is recorded. */
export interface TraceContext {
  /** 32 hexadecimal digits in lower case, not all 0. */
  traceId: string
  /** 16 of them. */
  spanId: string
}

const TEXT = /^([0-9a-f]{32})-([0-9a-f]{16})$/
const ZEROS = /^0+$/

/** The text that events keep: `<trace id>-<span id>`. */
export function traceText({ traceId, spanId }: TraceContext): string {
  return `${traceId}-${spanId}`
}

/** Reads `traceText`; null for any other text. */
export function readTraceText(text: string): TraceContext | null {
  const [, traceId, spanId] = TEXT.exec(text) ?? []
  if (traceId === undefined || spanId === undefined) return null
  return ZEROS.test(traceId) || ZEROS.test(spanId) ? null : { traceId, spanId }
}

/** The header `traceparent` of W3C Trace Context, version 00, with the flag `sampled`. */
export function traceparentOf(trace: TraceContext): string {
  return `00-${traceText(trace)}-01`
}
