/** Serves `POST /v1/admin/log-level`: changes the level of this node's log for a time. */
import { z } from 'zod'
import { isoOrNull } from '../../core/dates.ts'
import { oneOf, readBody } from '../../http/read-body.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import { mustBe } from '../../http/schemas/json-schema.ts'
import { nodeId } from '../../lifecycle/node-id.ts'
import { changeableLevels, type LogLevel, type LogLevelState } from '../../obs/log-level.ts'
import { MAX_ADMIN_BODY_BYTES, requireOperator } from './operator.ts'

const SECONDS = { low: 1, high: 86_400, otherwise: 900 }

const inRange = mustBe(`must be a whole number from ${SECONDS.low} to ${SECONDS.high}`)

const levelBody = z.strictObject({
  level: oneOf(changeableLevels).describe('The least level that is logged meanwhile.'),
  seconds: z
    .int(inRange)
    .min(SECONDS.low, inRange)
    .max(SECONDS.high, inRange)
    .default(SECONDS.otherwise)
    .describe(
      `For how long, ${SECONDS.low}–${SECONDS.high}; ${SECONDS.otherwise} by default. Then it goes back to \`BRIDGE_LOG_LEVEL\` by itself.`,
    ),
})

const levelSchema = z.object({
  node: z.string().describe('The node that was asked: its host and process id.'),
  level: z.string().describe('What is logged now.'),
  usual: z.string().describe('`BRIDGE_LOG_LEVEL`.'),
  until: z.string().describe('When it goes back to that; null: it is that.').nullable(),
})

/** The route. */
export function logLevelRoute(logLevel: Pick<LogLevel, 'set' | 'state'>): Route {
  return {
    method: 'POST',
    path: '/v1/admin/log-level',
    scope: 'admin',
    audit: 'log_level.changed',
    requireTarget: requireOperator,
    summary:
      'Changes the level of the process log of the node that is asked, for a time: 200 with `{node, level, usual, until}`. A restart or the end of the time brings back `BRIDGE_LOG_LEVEL`.',
    parameters: {},
    body: { maxBytes: MAX_ADMIN_BODY_BYTES, schema: levelBody },
    answers: { 200: { meaning: 'The level as it is now.', schema: levelSchema } },
    handle: (call) => change(call, logLevel),
  }
}

async function change(
  { query, body, caller, response, change: make }: Call,
  logLevel: Pick<LogLevel, 'set' | 'state'>,
): Promise<void> {
  query.check()
  const { level, seconds } = readBody(levelBody, body)
  const node = nodeId()
  const before = { ...shown(logLevel.state) }
  const state = await make(caller, { target: node, tenant: null, before }, async (note) => {
    const changed = logLevel.set(level, seconds * 1000)
    note({ after: { ...shown(changed) } })
    return changed
  })
  sendJson(response, 200, Buffer.from(JSON.stringify({ node, ...shown(state) })))
}

function shown({ level, usual, untilMs }: LogLevelState) {
  return { level, usual, until: isoOrNull(untilMs) }
}
