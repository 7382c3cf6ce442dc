/** Runs the verbs of `bridge admin` that give the leader an order: to poll, retry a gap, read a day again, step down. */
import { businessDayBeside, createCalendar } from '../../../core/calendar/calendar.ts'
import { isCalendarDate } from '../../../core/dates.ts'
import { BridgeError } from '../../../errors.ts'
import { fieldsOf, printableText, requesterOf } from '../../client/lists.ts'
import type { RefusalWords } from '../../client/refusal.ts'
import { requestFlags, TARGET_HELP } from '../../client/target.ts'
import { command } from '../../terminal/command.ts'
import { harmless } from '../../terminal/text.ts'
import { adminWords } from './words.ts'

/** A verb that sends one order. */
interface Order {
  name: string
  does: string
  help: string
  /** The argument that the path names; absent: none. */
  word?: string
  /** The path for that argument, which throws BridgeError `usage` for one that cannot be right. */
  path: (word: string) => string
  /** What is printed when the leader took the order. */
  done: (answer: Record<string, unknown>) => string
  /** What a 404 means; `nowMs`: the present, ms since 1970. */
  missing?: (nowMs: number) => RefusalWords['missing']
}

/** Polls at once. */
export const pollNow = order({
  name: 'poll-now',
  does: 'polls at once, as after a key was put right',
  help: 'Refused while polling is paused, no unit is left, or upstream has refused requests as too many.',
  path: () => 'polling/now',
  done: () => 'the leader polls now; bridge status shows what came of it',
})

/** Retries a gap. */
export const retryGap = order({
  name: 'retry-gap',
  does: 'tries to fill an open gap at once; bridge status lists them',
  help: `Refused as poll-now is, and when the units for gaps and re-scans are used up.`,
  word: 'ID',
  path: (id) => `gaps/${encodeURIComponent(id)}/retry`,
  done: ({ id }) =>
    `the leader tries to fill the gap ${printableText(id)} now; bridge status shows what came of it`,
  missing: () => ({ message: 'refuses this', hint: 'bridge status lists the open gaps.' }),
})

/** Reads a day again. */
export const reconcile = order({
  name: 'reconcile',
  does: 'reads a business day from upstream again at once',
  help: `  DATE is one of the last five business days whose releases are over, as YYYY-MM-DD.
Refused as retry-gap is, and where the plan pays for no reconciliations.`,
  word: 'DATE',
  path: (date) => `days/${requireDate(date)}/reconcile`,
  done: ({ date }) => `the leader reads ${printableText(date)} again; bridge report shows what came of it`,
  missing: (nowMs) => ({
    message: 'refuses this',
    hint: `Name one of the last five business days whose releases are over, such as ${lastBusinessDay(nowMs)}.`,
  }),
})

/** Moves the lead. */
export const stepDown = order({
  name: 'step-down',
  does: 'moves the lead to another node, as before a machine is serviced',
  help: 'Refused where no other node with the role poller is up.',
  path: () => 'leader/step-down',
  done: ({ node }) => `${printableText(node)} has stepped down; bridge nodes shows who leads`,
})

function requireDate(text: string): string {
  if (isCalendarDate(text)) return text
  throw new BridgeError('usage', `${harmless(text)} is no date of the form YYYY-MM-DD`, {
    hint: 'bridge admin reconcile --help says which dates it takes.',
  })
}

/** The last business day before today, in London, without the corrections of a calendar file. */
function lastBusinessDay(nowMs: number): string {
  const calendar = createCalendar()
  return businessDayBeside(calendar, calendar.londonDate(nowMs), -1)
}

function order({ name, does, help, word, path, done, missing }: Order): ReturnType<typeof command> {
  return command(
    {
      name: `admin ${name}`,
      does,
      ...(word !== undefined && { words: [word] }),
      help: `${help}
  --json                the response as JSON on stdout
${TARGET_HELP}`,
      flags: requestFlags,
    },
    async ({ values: { json, ...target }, words: [given = ''] }, context) => {
      const words = adminWords(`admin ${name}`, Object.keys(requestFlags), missing?.(context.clock.now()))
      const send = requesterOf(target, words, context)
      const answer = await send({ method: 'POST', path: `/v1/admin/${path(given)}` })
      if (json === true) context.stdout(JSON.stringify(answer))
      context.stderr(done(fieldsOf(answer)))
    },
  )
}
