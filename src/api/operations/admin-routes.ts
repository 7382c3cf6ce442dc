/**
 * Serves `/v1/admin`: what an operator may do to the running installation as a whole. Every node takes these requests. Only
 * the admin scope of the tenant `default` may, because they concern all tenants.
 */
import { z } from 'zod'
import { retryLater } from '../../http/problem.ts'
import { plainText, readBody } from '../../http/read-body.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import { pollingSchema, pollingStatusOf } from '../../http/schemas/polling-schema.ts'
import type { LogLevel } from '../../obs/log-level.ts'
import { LONGEST_REASON, type Pause, type PollingPauses } from '../../registry/polling-pauses.ts'
import { type LeaderOrderParts, leaderOrderRoutes } from './leader-order-routes.ts'
import { logLevelRoute } from './log-level-route.ts'
import { MAX_ADMIN_BODY_BYTES, requireOperator } from './operator.ts'

/** What the routes work with. */
export interface AdminParts extends LeaderOrderParts {
  pauses: PollingPauses
  logLevel: Pick<LogLevel, 'set' | 'state'>
}

const pauseBody = z.object({
  reason: plainText(LONGEST_REASON)
    .optional()
    .describe(`Why, for those who see the pause; at most ${LONGEST_REASON} characters.`),
})

/** The routes. */
export function adminRoutes(parts: AdminParts): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/admin/polling/pause',
      scope: 'admin',
      audit: 'polling.paused',
      summary:
        'Pauses polling for the whole installation until it is resumed: the leader finishes what it has begun and sends nothing more upstream. Durable, over restarts and changes of leader. A pause that is there already stays as it is.',
      parameters: {},
      body: { maxBytes: MAX_ADMIN_BODY_BYTES, isOptional: true, schema: pauseBody },
      answers: { 200: { meaning: 'Polling is paused.', schema: pollingSchema } },
      problems: ['unavailable'],
      requireTarget: requireOperator,
      handle: (call) => pause(call, parts),
    },
    {
      method: 'POST',
      path: '/v1/admin/polling/resume',
      scope: 'admin',
      audit: 'polling.resumed',
      summary:
        'Resumes polling. What upstream published meanwhile is read as after an outage, and so are the page scans that were due.',
      parameters: {},
      answers: { 200: { meaning: 'Polling goes on.', schema: pollingSchema } },
      problems: ['unavailable'],
      requireTarget: requireOperator,
      handle: (call) => resume(call, parts),
    },
    ...leaderOrderRoutes(parts),
    logLevelRoute(parts.logLevel),
  ]
}

async function pause({ query, body, caller, response, change }: Call, { pauses }: AdminParts): Promise<void> {
  query.check()
  const { reason = null } = readBody(pauseBody, body)
  requireLoaded(pauses)
  const paused = await change(caller, beforeOf(pauses), async (note) => {
    const made = await pauses.pause(caller.tokenId, reason)
    note({ after: { ...pollingStatusOf(made) } })
    return made
  })
  answer(response, paused)
}

async function resume({ query, caller, response, change }: Call, { pauses }: AdminParts): Promise<void> {
  query.check()
  requireLoaded(pauses)
  const after = { ...pollingStatusOf(null) }
  await change(caller, { ...beforeOf(pauses), after }, () => pauses.resume())
  answer(response, null)
}

/** Polling as it is before a change, for the audit journal. */
function beforeOf({ current }: PollingPauses) {
  return { target: 'polling', tenant: null, before: { ...pollingStatusOf(current) } }
}

function requireLoaded({ isLoaded }: PollingPauses): void {
  if (!isLoaded) throw retryLater('unavailable', 'this node has not read yet whether polling is paused')
}

function answer(response: Call['response'], pause: Pause | null): void {
  sendJson(response, 200, Buffer.from(JSON.stringify(pollingStatusOf(pause))))
}
