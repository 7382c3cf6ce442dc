/** Defines the spans of the product: timed parts of a trace, which are recorded once they have ended. */
import type { TraceContext } from './trace-context.ts'

/**
 * The names of spans. `poll`: a poll until what it brought is durable; `scan`: a scan over pages; `request`: a request to
 * upstream; `commit`: a commit to the log; `deliver`: an attempt to deliver to a webhook.
 */
export type SpanName = 'poll' | 'scan' | 'request' | 'commit' | 'deliver'

/** Counts, codes, ids and durations; never a secret, a header or the text of an item. Undefined ones are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

/** How a span begins. */
export interface SpanStart {
  /** ms since 1970. */
  startMs: number
  attributes?: SpanAttributes
  /** `client`: a request to another service. */
  kind?: 'client'
  /** Other spans that it belongs to beside its parent. */
  links?: readonly TraceContext[]
}

/** A span that has begun. Its methods never throw, and do nothing once it has ended. */
export interface OpenSpan {
  readonly trace: TraceContext
  set(attributes: SpanAttributes): void
  child(name: SpanName, start: SpanStart): OpenSpan
  /** At `endMs`, ms since 1970. `failure`: a code of why it failed. */
  end(endMs: number, failure?: string): void
}

/** What records spans. It never throws and never waits; null in its place where traces are off. */
export interface Tracing {
  /** Begins a trace; null for one that is not sampled. */
  begin(name: SpanName, start: SpanStart): OpenSpan | null
  /** Continues a trace that was begun elsewhere and is sampled. */
  goOn(name: SpanName, parent: TraceContext, start: SpanStart): OpenSpan
  /** Sends what is left, for a bounded time. Never rejects. */
  close(): Promise<void>
}

/** Where spans go, and how many. */
export interface TraceSettings {
  /** The whole address that takes traces. */
  url: string
  /** Headers of each export. */
  headers: Readonly<Record<string, string>>
  /** Share of traces that is recorded, 0 to 1. */
  ratio: number
  /** `service.name`. */
  service: string
}
