/**
 * `bridge report`: what each of the last days brought, and whether anything of it is missing, asked of a running bridge.
 * Owns its flags, the table and the words. Refuses to count: the bridge does.
 */
import { readFileSync } from 'node:fs'
import { BridgeError } from '../../errors.ts'
import { askBridge } from '../client/ask.ts'
import { noBridge, type RefusalWords } from '../client/refusal.ts'
import { targetOf } from '../client/target.ts'
import { asksForHelp, readFlags } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { harmless, type Paint, painter, type Tone } from '../terminal/text.ts'

const DEFAULT_DAYS = 14
/** As many as a bridge keeps. */
const MOST_DAYS = 400

const flags = {
  days: { type: 'string' },
  json: { type: 'boolean' },
  url: { type: 'string' },
  token: { type: 'string' },
} as const

const HELP = `bridge report: what each London day brought, and whether anything of it is missing
(docs/run/operating.md, "Was anything missing yesterday")

  polled, filled, swept   contents of that day's items by what found them first
  rejected                unreadable items
  gaps                    gaps over that day that are open
  EOD                     whether upstream's own mark of the day's end is held
  units                   of the quota, spent on that day

  --days N      the last N days, 1 to ${MOST_DAYS}, default ${DEFAULT_DAYS}
  --json        one day a line as JSON on stdout, with everything that the bridge says
  --url URL     its address; default: BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT
  --token TOKEN default BRIDGE_ADMIN_TOKEN, which other users of this machine cannot see`

const words: RefusalWords = {
  help: 'bridge report --help lists the flags.',
  missing: {
    message: 'has no report of its days',
    hint: 'Check --url; the bridge there must be of this version and have the role api in BRIDGE_ROLES.',
  },
}

/** Prints the report. Rejects where no bridge answers, or it refuses. */
export async function reportCommand(args: string[], context: CommandContext): Promise<void> {
  const { stdout, stderr, env, colour } = context
  if (asksForHelp(args)) {
    stdout(HELP)
    return
  }
  const { days = String(DEFAULT_DAYS), json, url, token } = readFlags('report', args, flags)
  const count = /^\d{1,3}$/.test(days) ? Number(days) : 0
  if (count < 1 || count > MOST_DAYS) {
    throw new BridgeError('usage', `--days must be a whole number from 1 to ${MOST_DAYS}`, {
      hint: words.help,
    })
  }
  const target = targetOf({ url, token }, env, (path) => readFileSync(path, 'utf8'))
  const path = `/v1/report?days=${count}`
  const answer = await askBridge({ target, method: 'GET', path, words }, context)
  const data = (answer as { data?: unknown } | null)?.data
  if (!Array.isArray(data)) throw noBridge(target)
  if (json === true) for (const day of data) stdout(JSON.stringify(day))
  else if (data.length > 0) for (const line of tableOf(data.map(dayOf), painter(colour))) stdout(line)
  if (data.length === 0) stderr('no day is counted yet: the counting begins with the first good poll')
}

/** What is shown of a day; a figure that is absent is 0. */
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
  const head = ['polled', 'filled', 'swept', 'rejected'].map((name) => name.padStart(9)).join('')
  return [
    paint('soft', `date      ${head}  gaps  EOD   units`),
    ...days.map((day) => lineOf(day, paint)),
    paint(
      'soft',
      `${`${days.length} days`.padEnd(10)}${cells(sums)}            ${String(units).padStart(6)}`,
    ),
  ]
}

function lineOf(day: ShownDay, paint: Paint): string {
  const { date, figures, gapsLeft, isMarked, units } = day
  const [tone, verdict] = verdictOf(day)
  const gaps = String(gapsLeft).padStart(6)
  return `${date.padEnd(10)}${cells(figures)}${gaps}  ${isMarked ? 'yes' : '–  '}  ${String(units).padStart(6)}  ${paint(tone, verdict)}`
}

function cells(figures: readonly number[]): string {
  return figures.map((figure) => String(figure).padStart(9)).join('')
}

const WALKS: Readonly<Record<string, readonly [Tone, string]>> = {
  whole: ['plain', 'whole'],
  not_due: ['soft', 'goes on'],
  none: ['soft', 'nothing is released'],
  owed: ['strong', 'walk still owed'],
  unpaid: ['strong', 'not walked: plan'],
  failed: ['strong', 'not walked: upstream'],
  missed: ['strong', 'not walked: no bridge led'],
}

/** Whether something of the day is missing, in words. */
function verdictOf({ gapsLeft, walk, since }: ShownDay): readonly [Tone, string] {
  const [tone, walked] = WALKS[walk] ?? ['strong', walk]
  const from = since === null ? '' : `, since ${since}`
  if (gapsLeft === 0) return [tone, `${walked}${from}`]
  return ['alarm', `${gapsLeft} gap${gapsLeft === 1 ? '' : 's'} open, ${walked}${from}`]
}

function dayOf(value: unknown): ShownDay {
  const fields = (value ?? {}) as Readonly<Record<string, unknown>>
  const { units, since } = fields
  const spent = units !== null && typeof units === 'object' ? Object.values(units) : []
  return {
    date: textOf(fields.date),
    figures: [fields.polled, fields.filled, fields.swept, fields.rejected].map(numberOf),
    gapsLeft: numberOf(fields.gapsLeft),
    isMarked: fields.eodSeen === true,
    units: spent.map(numberOf).reduce((sum, of) => sum + of, 0),
    walk: textOf(fields.walk),
    since: typeof since === 'string' ? textOf(since).slice(0, 16).replace('T', ' ') : null,
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? harmless(value).slice(0, 40) : '?'
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
