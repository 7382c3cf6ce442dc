/**
 * Runs `bridge sandbox`: starts a local imitation of the upstream API with an invented market, or lists its scenarios.
 */
import type { ParseArgsConfig } from 'node:util'
import { planNames } from '../../core/plans.ts'
import { BridgeError } from '../../errors.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import { type SandboxOptions, startSandbox } from '../../sandbox/sandbox.ts'
import { scenarios } from '../../sandbox/scenario-list.ts'
import { readPlan } from '../terminal/arguments.ts'
import { command } from '../terminal/command.ts'

const flags = {
  port: { type: 'string' },
  'admin-port': { type: 'string' },
  host: { type: 'string' },
  scenario: { type: 'string' },
  plan: { type: 'string' },
  key: { type: 'string' },
  seed: { type: 'string' },
  speed: { type: 'string' },
  'daily-items': { type: 'string' },
  'weekly-quota': { type: 'string' },
  rate: { type: 'string' },
  burst: { type: 'string' },
  'documents-url': { type: 'string' },
  list: { type: 'boolean' },
  json: { type: 'boolean' },
} as const satisfies ParseArgsConfig['options']

type Flag = Exclude<keyof typeof flags, 'list' | 'json'>
type Values = Partial<Record<Flag, string>>

const HELP = `  --port N          port of the API; default 0: a free one
  --admin-port N    port of the admin API; default 0: a free one
  --host ADDRESS    address of both, default 127.0.0.1; 0.0.0.0 opens both to other machines
  --scenario NAME   default normal; --list shows all
  --plan NAME       ${planNames.join(', ')}; default advanced
  --key TEXT        the valid API key, default sandbox-key
  --seed N          seed of the generated market, default 1
  --speed X         market seconds per real second, default 1; rate limits use real time
  --daily-items N   items of a usual day, default 1,900; bursts grow with it
  --weekly-quota N  instead of the plan's
  --rate X          requests a second, instead of the plan's
  --burst N         requests at once, instead of the plan's
  --documents-url U prefix of document addresses, default the sandbox's own
  --list            lists the scenarios; with --json as JSON`

const SPEC = {
  name: 'sandbox',
  does: 'a synthetic upstream (docs/use/sandbox.md)',
  help: HELP,
  flags,
} as const

/**
 * Runs the sandbox until the signal aborts, then closes everything.
 * @throws BridgeError `usage` for a wrong flag, `failed` where a port is taken
 */
export const runSandboxCommand = command(SPEC, async ({ values }, context) => {
  if (values.list === true) {
    for (const line of scenarioList(values.json === true)) context.stdout(line)
    return
  }
  const sandbox = await startSandbox(sandboxOptions(values), { clock: context.clock })
  const { url, adminUrl, key } = sandbox
  context.stdout(JSON.stringify({ ready: true, url, admin: adminUrl, key }))
  await aborted(context.signal)
  await sandbox.close()
})

function scenarioList(asJson: boolean): string[] {
  const list = Object.entries(scenarios).map(([name, { meaning }]) => ({ name, meaning }))
  if (asJson) return [JSON.stringify(list)]
  const width = Math.max(...list.map(({ name }) => name.length))
  return list.map(({ name, meaning }) => `${name.padEnd(width)}  ${meaning}`)
}

/** The options that flags give; a flag that is absent leaves its default. */
function sandboxOptions(values: Values): SandboxOptions {
  const whole = (flag: Flag, low: number, high: number) => readNumber(values, flag, low, high, true)
  const decimal = (flag: Flag, low: number, high: number) => readNumber(values, flag, low, high, false)
  const options = {
    scenario: values.scenario,
    key: readKey(values.key),
    plan: readPlan(values.plan),
    documentsUrl: readUrl(values['documents-url']),
    port: whole('port', 0, 65_535),
    adminPort: whole('admin-port', 0, 65_535),
    host: values.host,
    seed: whole('seed', 0, 2 ** 32 - 1),
    speed: decimal('speed', 0.001, 100_000),
    dayItems: whole('daily-items', 0, 100_000),
    weeklyQuota: whole('weekly-quota', 0, 1e9),
    ratePerSecond: decimal('rate', 0.001, 1e6),
    burst: whole('burst', 1, 1e6),
  }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

function readKey(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw new BridgeError('usage', '--key must be printable characters without blanks', {
    hint: 'It travels in the request header x-api-key.',
  })
}

function readUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '')
    return url.href.replace(/\/$/, '')
  throw new BridgeError('usage', `--documents-url must be an address, got "${text}"`, {
    hint: 'It looks like http://localhost:8080/documents and has no query.',
  })
}

function readNumber(
  values: Values,
  flag: Flag,
  low: number,
  high: number,
  whole: boolean,
): number | undefined {
  const text = values[flag]
  if (text === undefined) return undefined
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (number >= low && number <= high && (!whole || Number.isInteger(number))) return number
  const kind = whole ? 'a whole number' : 'a number'
  throw new BridgeError('usage', `--${flag} must be ${kind} from ${low} to ${high}, got "${text}"`, {
    hint: 'bridge sandbox --help lists the flags.',
  })
}
