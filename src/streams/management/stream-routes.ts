/**
 * Serves `GET /v1/streams`, the open streams of this node, and `DELETE /v1/streams/{id}`, which ends one. A tenant sees and
 * ends its own only.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { isoMillis, isoOrNull } from '../../core/dates.ts'
import type { Caller } from '../../http/auth.ts'
import { addressText } from '../../http/bounds/remote-address.ts'
import { PAGE_BYTES, pageParameters, readPageParameters } from '../../http/page.ts'
import { HttpProblem } from '../../http/problem.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import { nodeNameFor } from '../../registry/node-name.ts'
import type { Tokens } from '../../registry/tokens.ts'
import type { OpenStream } from '../fanout/open-streams.ts'
import type { Session } from '../fanout/session.ts'
import type { StreamContext } from '../transport/context.ts'
import { type ShownStream, type ShownSubscription, streamsPage } from './stream-schema.ts'

/** What the routes need besides the context of all streams. */
export interface ManagementOptions {
  /** Gives the names of tokens. */
  tokens: Pick<Tokens, 'get'>
  /** This node's id, and `BRIDGE_SECRET_KEY`, which makes a name of it for tenants. */
  node: { id: string; key: string }
}

type Parts = ManagementOptions & { context: StreamContext }

const PATH = '/v1/streams'
/** Both routes. */
export function managementRoutes(context: StreamContext, options: ManagementOptions): Route[] {
  const parts = { ...options, context }
  return [
    {
      method: 'GET',
      path: PATH,
      scope: 'events:read',
      summary:
        'The open streams of this node, in the order of their opening: transport, token, filters, positions, lag, since when the client is slow. Those of the tenant; of all with `BRIDGE_ADMIN_TOKEN`. See [open-streams.md](open-streams.md).',
      parameters: pageParameters('streams', '; large filters make a page shorter.'),
      answers: { 200: { meaning: 'A page of streams.', schema: streamsPage } },
      handle: async (call) => list(call, parts),
    },
    {
      method: 'DELETE',
      audit: 'stream.ended',
      path: `${PATH}/{id}`,
      scope: 'events:read',
      requireTarget: (target) => void streamOf(target, context),
      summary:
        'Ends a stream of this node: 204. A WebSocket is closed with 4007. Without the scope `admin` only streams of the calling token.',
      parameters: {},
      answers: { 204: { meaning: 'It has ended.' } },
      handle: (call) => remove(call, context),
    },
  ]
}

function list({ query, caller, response }: Call, { context, tokens, node }: Parts): void {
  const { open, reader, clock, sendBuffers } = context
  const { after, limit } = readPageParameters(query, (text) => open.numberIn(text))
  query.check()
  const nowMs = clock.now()
  const data: string[] = []
  let bytes = 0
  let next: string | null = null
  let last = ''
  for (const stream of open.all()) {
    if (stream.number <= (after ?? 0) || !maySee(caller, stream)) continue
    if (data.length === limit || bytes >= PAGE_BYTES) {
      next = last
      break
    }
    last = open.idOf(stream)
    const shown: ShownStream = { id: last, ...factsOf(stream, caller, tokens), subscriptions: [] }
    for (const [id, session] of stream.sessions()) {
      shown.subscriptions.push({ id, ...placeOf(session, reader, nowMs) })
    }
    const text = JSON.stringify(shown)
    data.push(text)
    bytes += text.length
  }
  const name = nodeNameFor(caller, node.id, node.key)
  const body = Buffer.from(
    `{"node":${JSON.stringify(name)},"data":[${data.join(',')}],"next":${JSON.stringify(next)}}`,
  )
  sendBuffers.retainUntilOut(body, response)
  sendJson(response, 200, body)
}

function maySee(caller: Caller, stream: OpenStream): boolean {
  return caller.seesAllTenants || stream.caller?.tenant === caller.tenant
}

function factsOf(stream: OpenStream, caller: Caller, tokens: Pick<Tokens, 'get'>) {
  const { transport, remote, openedMs, slowSinceMs, sent } = stream.account
  const { tenant = null, tokenId = null } = stream.caller ?? {}
  return {
    transport,
    tenant,
    token: tokenId === null ? null : { id: tokenId, name: tokens.get(tokenId)?.name ?? null },
    openedAt: isoMillis(openedMs),
    slowSince: isoOrNull(slowSinceMs),
    eventsSent: sent,
    remoteAddress: caller.scopes.includes('admin') ? addressText(remote) : null,
  } satisfies Omit<ShownStream, 'id' | 'subscriptions'>
}

/** What a session reads and how far it is. While its position means nothing at this node, it is null. */
function placeOf(session: Session, reader: Reader, nowMs: number): Omit<ShownSubscription, 'id'> {
  const { position, cursor, isLive: live } = session
  const filter = (session.filter ?? {}) as ShownSubscription['filter']
  if (reader.replica.filling !== null || session.epoch !== reader.epoch) {
    return { filter, cursor, sequence: null, lagEvents: null, lagSeconds: null, live }
  }
  const lagEvents = Math.max(0, reader.latest - position)
  const heldMs = lagEvents === 0 ? nowMs : reader.recordedAt(position + 1)
  const lagSeconds = heldMs === null ? null : Math.max(0, nowMs - heldMs) / 1000
  return { filter, cursor, sequence: position, lagEvents, lagSeconds, live }
}

/** The stream that the path names. @throws HttpProblem `not_found` */
function streamOf(
  { segment, caller }: Pick<Call, 'segment' | 'caller'>,
  { open }: StreamContext,
): OpenStream {
  const stream = open.find(segment('id'))
  if (stream !== null && maySee(caller, stream)) return stream
  throw new HttpProblem(
    'not_found',
    'this node has no open stream of this id; GET /v1/streams lists them, each node its own',
  )
}

async function remove(call: Call, context: StreamContext): Promise<void> {
  const { query, caller, response, segment } = call
  query.check()
  const stream = streamOf(call, context)
  if (!caller.scopes.includes('admin') && stream.caller?.tokenId !== caller.tokenId) {
    throw new HttpProblem(
      'forbidden',
      'another token opened this stream; a token without the scope admin ends only its own streams',
    )
  }
  const { tenant = null, tokenId = null } = stream.caller ?? {}
  const { transport } = stream.account
  context.logger.info('stream.deleted', {
    streamId: segment('id'),
    transport,
    tenant,
    tokenId,
    by: caller.tokenId,
  })
  const before = { transport, tokenId }
  await call.change(caller, { target: segment('id'), tenant, before }, async () => stream.onDeleted())
  response.writeHead(204, { 'Cache-Control': 'no-store' }).end()
}
