/**
 * Records spans with OpenTelemetry and sends them over OTLP/HTTP. Its packages are loaded only when it starts. Spans wait in a
 * bounded queue: what does not fit is dropped and counted, and nothing waits for the receiver.
 */
import type { Agent } from 'node:http'
import type { Link, Span, SpanContext } from '@opentelemetry/api'
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace'
import { messageOf, textOf } from '../errors.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'
import type { TraceContext } from './trace-context.ts'
import type { OpenSpan, SpanAttributes, SpanName, SpanStart, TraceSettings, Tracing } from './tracing.ts'

/** What tracing is built from. */
export interface TracingParts {
  settings: TraceSettings
  /** Of the resource of every span, e.g. `service.version`. */
  about: Readonly<Record<string, string>>
  metrics: Pick<Metrics, 'traceSpans'>
  logger: Logger
  clock: Clock
}

/** Most spans that wait to be sent or are being sent. A span has about 1 KB. */
const MOST_SPANS = 2048
const BATCH = 512
/** Longest time until a span is sent, and of one export with its retries. */
const GATHER_MS = 2000
const EXPORT_MS = 3000
/** Longest time of the last export, at a stop. */
const CLOSE_MS = 2000
/** `ExportResultCode.SUCCESS` of the SDK. */
const SUCCESS = 0
/** W3C: the flag of a trace that is recorded. */
const SAMPLED = 1

/** Loads the packages and starts to record. */
export async function startTracing(parts: TracingParts): Promise<Tracing> {
  const { settings, about, clock } = parts
  const [api, sdk, otlp, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  const agents: Agent[] = []
  const exporter = new otlp.OTLPTraceExporter({
    url: settings.url,
    headers: { ...settings.headers },
    timeoutMillis: EXPORT_MS,
    httpAgentOptions: async (protocol) => {
      const { Agent: Chosen } = protocol === 'http:' ? await import('node:http') : await import('node:https')
      const agent = new Chosen({ keepAlive: true, maxSockets: 4 })
      agents.push(agent)
      return agent
    },
  })
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': settings.service, ...about }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(settings.ratio) }),
    spanProcessors: [
      bounded(parts, exporter, (counting) => {
        const limits = { maxQueueSize: MOST_SPANS, maxExportBatchSize: BATCH }
        const times = { scheduledDelayMillis: GATHER_MS, exportTimeoutMillis: EXPORT_MS + 1000 }
        return new sdk.BatchSpanProcessor({ exporter: counting, ...limits, ...times })
      }),
    ],
  })
  const tracer = provider.getTracer('disclosure-bridge', about['service.version'])
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api

  const start = (name: SpanName, parent: SpanContext | null, given: SpanStart): Span => {
    const { startMs, attributes = {}, kind, links = [] } = given
    const options = {
      startTime: new Date(startMs),
      attributes: known(attributes),
      kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
      links: links.map((linked): Link => ({ context: remote(linked) })),
    }
    return tracer.startSpan(
      name,
      options,
      parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
    )
  }
  const opened = (span: Span): OpenSpan => {
    const context = span.spanContext()
    return {
      trace: { traceId: context.traceId, spanId: context.spanId },
      set: (attributes) => void span.setAttributes(known(attributes)),
      child: (name, given) => opened(start(name, context, given)),
      end(endMs, failure) {
        if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure })
        span.end(new Date(endMs))
      },
    }
  }
  return {
    begin(name, given) {
      const span = start(name, null, given)
      return span.isRecording() ? opened(span) : null
    },
    goOn: (name, parent, given) => opened(start(name, remote(parent), given)),
    async close() {
      const over = new AbortController()
      const shut = provider.shutdown().catch(() => undefined)
      await Promise.race([shut, sleep(clock, CLOSE_MS, over.signal)])
      over.abort()
      for (const agent of agents) agent.destroy()
    },
  }
}

/** The processor that `batching` makes over the exporter, never given more than it takes, with a count of what becomes of spans. */
function bounded(
  { metrics, logger }: TracingParts,
  exporter: SpanExporter,
  batching: (counting: SpanExporter) => SpanProcessor,
): SpanProcessor {
  let waiting = 0
  let isClosed = false
  let isFailing = false
  const processor = batching({
    export(spans, done) {
      exporter.export(spans, ({ code, error }) => {
        waiting -= spans.length
        const isWell = code === SUCCESS
        metrics.traceSpans.add({ result: isWell ? 'exported' : 'failed' }, spans.length)
        if (isWell && isFailing) logger.info('traces.export_recovered')
        if (!isWell && !isFailing) {
          logger.warn('traces.export_failed', { reason: reasonOf(error) })
        }
        isFailing = !isWell
        // What became of the spans is told above; the SDK has nothing to add.
        done({ code: SUCCESS })
      })
    },
    shutdown: () => exporter.shutdown(),
  })
  return {
    onStart: () => undefined,
    onEnd(span: ReadableSpan) {
      if ((span.spanContext().traceFlags & SAMPLED) === 0) return
      if (isClosed || waiting >= MOST_SPANS) return metrics.traceSpans.add({ result: 'dropped' })
      waiting += 1
      processor.onEnd(span)
    },
    forceFlush: () => processor.forceFlush(),
    shutdown() {
      isClosed = true
      return processor.shutdown()
    },
  }
}

function remote({ traceId, spanId }: TraceContext): SpanContext {
  return { traceId, spanId, traceFlags: SAMPLED, isRemote: true }
}

/** The status of the receiver, or the code of the socket's error. */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? `${textOf(error.code)} ` : ''
  return `${code}${messageOf(error ?? 'no reason given')}`
}

/** The attributes that have a value. */
function known(attributes: SpanAttributes): Record<string, string | number | boolean> {
  const given = Object.entries(attributes).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as Record<string, string | number | boolean>
}
