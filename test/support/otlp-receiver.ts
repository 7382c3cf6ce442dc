/** Receives traces as an OTLP collector does: over HTTP on a real socket, as the JSON of `opentelemetry-proto`. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

const value = z.looseObject({
  stringValue: z.string().optional(),
  intValue: z.union([z.string(), z.number()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
})
const attributes = z.array(z.object({ key: z.string(), value })).default([])
const spanShape = z.looseObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes,
  links: z.array(z.looseObject({ traceId: z.string(), spanId: z.string() })).default([]),
  status: z.looseObject({ code: z.number().optional(), message: z.string().optional() }),
})
const bodyShape = z.object({
  resourceSpans: z.array(
    z.looseObject({
      resource: z.looseObject({ attributes }),
      scopeSpans: z.array(z.looseObject({ spans: z.array(spanShape) })),
    }),
  ),
})

/** A span as it was sent, its attributes as plain values. */
export interface SentSpan {
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  name: string
  startMs: number
  endMs: number
  attributes: Record<string, unknown>
  links: readonly { traceId: string; spanId: string }[]
  status: { code?: number | undefined; message?: string | undefined }
  resource: Record<string, unknown>
}

export interface OtlpReceiver extends AsyncDisposable {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  url: string
  spans: SentSpan[]
  /** Of every request. */
  requests: { path: string; headers: IncomingHttpHeaders; text: string }[]
  /** Connections that were opened to it. */
  connections(): number
}

/** Starts one; `answer` takes the place of its 200. A request is in `requests` once it was read whole. */
export async function startOtlpReceiver(
  answer: (response: ServerResponse) => void = (response) => response.writeHead(200).end('{}'),
): Promise<OtlpReceiver> {
  const spans: SentSpan[] = []
  const requests: OtlpReceiver['requests'] = []
  let connections = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    requests.push({ path: request.url ?? '', headers: request.headers, text })
    spans.push(...spansIn(text))
    answer(response)
  })
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function spansIn(text: string): SentSpan[] {
  return bodyShape.parse(JSON.parse(text)).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        ...{ traceId: span.traceId, spanId: span.spanId, parentSpanId: span.parentSpanId, name: span.name },
        startMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
        endMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
        attributes: plain(span.attributes),
        links: span.links,
        status: span.status,
        resource: plain(resource.attributes),
      })),
    ),
  )
}

function plain(given: z.infer<typeof attributes>): Record<string, unknown> {
  return Object.fromEntries(
    given.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => [
      key,
      stringValue ?? boolValue ?? doubleValue ?? (intValue === undefined ? null : Number(intValue)),
    ]),
  )
}
