/**
 * Runs `bridge report`: prints a table of the last days with the items received and whether any are missing.
 */
import { BridgeError } from '../../errors.ts'
import { noBridge, type RefusalWords } from '../client/refusal.ts'
import { requestBridge } from '../client/request.ts'
import { requestFlags, TARGET_HELP, targetOf } from '../client/target.ts'
import { command } from '../terminal/command.ts'
import { londonTimeOf } from '../terminal/london-time.ts'
import { counted, harmless, type Paint, painter, type Tone } from '../terminal/text.ts'

const DEFAULT_DAYS = 14
/** How many days a bridge keeps. */
const MOST_DAYS = 400

const flags = { days: { type: 'string' }, ...requestFlags } as const

const HELP = `  polled, filled, swept, backfilled
                          items of that day, by what found them first: a poll, an overflow fill, a re-scan,
                          the backfill of a first start
  rejected                items that could not be parsed
  gaps                    open gaps that overlap the day
  EOD                     whether the upstream's end-of-day item was received
  units                   quota units spent on that day

  --days N              the last N days, 1 to ${MOST_DAYS}, default ${DEFAULT_DAYS}
  --json                one line of JSON per day, with all figures of the bridge
${TARGET_HELP}`

const SPEC = {
  name: 'report',
  does: 'the items of each London day, and whether any are missing\n(docs/run/completeness.md, "Was anything missing yesterday")',
  help: HELP,
  flags,
} as const

const words: RefusalWords = {
  help: 'bridge report --help lists the flags.',
  missing: {
    message: 'has no report',
    hint: 'Check --url; the bridge there must be of this version and have the role api in BRIDGE_ROLES.',
  },
}

/** Prints the report. Rejects if no bridge answers or the request fails. */
export const reportCommand = command(SPEC, async ({ values }, context) => {
  const { stdout, stderr, env, colour } = context
  const { days = DEFAULT_DAYS.toString(), json, ...place } = values
  const count = /^\d{1,3}$/.test(days) ? Number(days) : 0
  if (count < 1 || count > MOST_DAYS) {
    throw new BridgeError('usage', `--days must be a whole number from 1 to ${MOST_DAYS}`, {
      hint: words.help,
    })
  }
  const target = targetOf(place, env)
  const path = `/v1/report?days=${count}`
  const answer = await requestBridge({ target, method: 'GET', path, words }, context)
  const data = (answer as { data?: unknown } | null)?.data
  if (!Array.isArray(data)) throw noBridge(target)
  if (json === true) for (const day of data) stdout(JSON.stringify(day))
  else if (data.length > 0) for (const line of tableOf(data.map(dayOf), painter(colour))) stdout(line)
  if (data.length === 0) stderr('no day yet: counting starts with the first successful poll')
})

/** The columns of items. */
const FOUND_BY = ['polled', 'filled', 'swept', 'backfilled', 'rejected'] as const
const WIDTH = 11

/** The figures of a day that are shown; an absent one is 0. */
interface ShownDay {
  date: string
  figures: readonly number[]
  gapsLeft: number
  isMarked: boolean
  units: number
  walk: string
  since: string | null
}

function tableOf(days: readonly ShownDay[], paint: Paint): string[] {
  const sums = (days[0]?.figures ?? []).map((_, place) =>
    days.reduce((sum, { figures }) => sum + (figures[place] ?? 0), 0),
  )
  const units = days.reduce((sum, day) => sum + day.units, 0)
  const head = FOUND_BY.map((name) => name.padStart(WIDTH)).join('')
  return [
    paint('soft', `date      ${head}  gaps  EOD   units`),
    ...days.map((day) => lineOf(day, paint)),
    paint(
      'soft',
      `${counted(days.length, 'day').padEnd(10)}${cells(sums)}            ${units.toString().padStart(6)}`,
    ),
  ]
}

function lineOf(day: ShownDay, paint: Paint): string {
  const { date, figures, gapsLeft, isMarked, units } = day
  const [tone, verdict] = verdictOf(day)
  const gaps = gapsLeft.toString().padStart(6)
  return `${date.padEnd(10)}${cells(figures)}${gaps}  ${isMarked ? 'yes' : '–  '}  ${units.toString().padStart(6)}  ${paint(tone, verdict)}`
}

function cells(figures: readonly number[]): string {
  return figures.map((figure) => figure.toString().padStart(WIDTH)).join('')
}

/** Result of the daily reconciliation, by the report's `walk`. */
const RECONCILIATIONS: Readonly<Record<string, readonly [Tone, string]>> = {
  complete: ['plain', 'complete'],
  not_due: ['soft', 'not over yet'],
  none: ['soft', 'no releases'],
  pending: ['strong', 'reconciliation pending'],
  over_budget: ['strong', 'not reconciled: over budget'],
  failed: ['strong', 'not reconciled: upstream failed'],
  missed: ['strong', 'not reconciled: no leader'],
}

/** Whether items of the day are missing, in words. */
function verdictOf({ gapsLeft, walk, since }: ShownDay): readonly [Tone, string] {
  const [tone, result] = RECONCILIATIONS[walk] ?? ['strong', walk]
  const from = since === null ? '' : `, since ${since}`
  if (gapsLeft === 0) return [tone, `${result}${from}`]
  return ['alarm', `${counted(gapsLeft, 'gap')} open, ${result}${from}`]
}

function dayOf(value: unknown): ShownDay {
  const fields = (value ?? {}) as Readonly<Record<string, unknown>>
  const { units, since } = fields
  const spent = units !== null && typeof units === 'object' ? Object.values(units) : []
  return {
    date: textOf(fields.date),
    figures: FOUND_BY.map((name) => numberOf(fields[name])),
    gapsLeft: numberOf(fields.gapsLeft),
    isMarked: fields.eodSeen === true,
    units: spent.map(numberOf).reduce((sum, of) => sum + of, 0),
    walk: textOf(fields.walk),
    since: typeof since === 'string' ? (londonTimeOf(since) ?? textOf(since)) : null,
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? harmless(value).slice(0, 40) : '?'
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
