/**
 * Parses the body of `POST /v1/webhooks/{id}/replay` with a zod object, from which `/openapi.json` is made too.
 */
import { z } from 'zod'
import { type LogPosition, placeText, readBody, timeText } from '../../http/read-body.ts'
import { mustBe } from '../../http/schemas/json-schema.ts'
import { CLOCK_MARGIN_MS } from '../endpoints/endpoint-start.ts'

/** Largest body, bytes: a thousand ids are 60 KB. */
export const MAX_REPLAY_BODY_BYTES = 128 * 1024
/** Most ids of one replay. */
const MOST_IDS = 1000
/** Ids of events are shorter, even those of gaps and revisions. */
const LONGEST_ID = 512

const cursorRule = mustBe('must be a cursor as an event has it')
const idRule = mustBe('must be the id of an event')
const idsRule = mustBe(`must be a list of 1 to ${MOST_IDS} ids of events`)
const flag = z.boolean('must be true or false').default(false)
const starts = ['after', 'since', 'ids'] as const

/** The body at that moment, ms since 1970. */
export function replayBody(nowMs: number) {
  return z
    .strictObject({
      after: z
        .string(cursorRule)
        .min(1, cursorRule)
        .optional()
        .describe('Cursor after which the window begins.'),
      since: timeText()
        .refine(({ fromMs }) => fromMs <= nowMs + CLOCK_MARGIN_MS, 'is in the future')
        .optional()
        .describe('Or the time from which on it begins; before everything that is kept: all that is kept.'),
      ids: z
        .array(z.string(idRule).min(1, idRule).max(LONGEST_ID, idRule), idsRule)
        .min(1, idsRule)
        .max(MOST_IDS, idsRule)
        .optional()
        .describe(`Or ids of 1–${MOST_IDS} disclosures: these alone, also where the filter leaves them out.`),
      until: placeText('must be a cursor, or a time such as 2027-01-31T12:00:00Z')
        .optional()
        .describe(
          'Cursor at which the window ends, or the last time of it (`2027-01-31`: with that whole day); default: now.',
        ),
      dead: flag.describe('true: only those deliveries of the window that are dead.'),
      dryRun: flag.describe('true: counts, and begins nothing.'),
    })
    .superRefine((body, context) => {
      const refuse = (name: string, message: string): void => {
        context.addIssue({ code: 'custom', path: [name], message })
      }
      const [first, ...more] = starts.filter((name) => body[name] !== undefined)
      const choice = `give one of ${starts.join(', ')}`
      if (first === undefined) refuse('after', `is missing: ${choice}`)
      for (const name of more) refuse(name, `does not go with \`${first}\`: ${choice}`)
      if (first === 'ids' && body.until !== undefined) refuse('until', 'does not go with `ids`')
      if (first === 'ids' && body.dead) refuse('dead', 'does not go with `ids`')
      if (body.until?.kind === 'time' && body.until.toMs < (body.since?.fromMs ?? 0)) {
        refuse('until', 'is before `since`')
      }
    })
}

/** What a body asks for. */
export interface ReplayRequest {
  /** Where the window begins, or the events themselves. */
  from: LogPosition | { kind: 'ids'; ids: readonly string[] }
  /** null: now. */
  until: LogPosition | null
  onlyDead: boolean
  dryRun: boolean
}

/**
 * What the body asks for.
 * @throws HttpProblem `body_invalid` naming everything that is wrong
 */
export function readReplay(body: unknown, nowMs: number): ReplayRequest {
  const { after = '', since, ids, until = null, dead: onlyDead, dryRun } = readBody(replayBody(nowMs), body)
  const rest = { until, onlyDead, dryRun }
  if (ids !== undefined) return { from: { kind: 'ids', ids }, ...rest }
  return { from: since === undefined ? { kind: 'cursor', text: after } : { kind: 'time', ...since }, ...rest }
}
