/**
 * Runs `bridge sandbox`: starts the synthetic upstream, or lists its scenarios.
 */
import type { ParseArgsConfig } from 'node:util'
import { didYouMean } from '../../core/near.ts'
import { type PlanName, planNames } from '../../core/plans.ts'
import { BridgeError } from '../../errors.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { type SandboxOptions, startSandbox } from '../../sandbox/sandbox.ts'
import { scenarios } from '../../sandbox/scenario-list.ts'
import { asksForHelp, readFlags } from '../terminal/arguments.ts'

/** What the command needs of the process. */
export interface SandboxContext {
  /** Writes one line of data. */
  stdout: (line: string) => void
  clock: Clock
  signal: AbortSignal
}

const flags = {
  port: { type: 'string' },
  'admin-port': { type: 'string' },
  host: { type: 'string' },
  scenario: { type: 'string' },
  plan: { type: 'string' },
  key: { type: 'string' },
  seed: { type: 'string' },
  speed: { type: 'string' },
  'weekly-quota': { type: 'string' },
  rate: { type: 'string' },
  burst: { type: 'string' },
  'documents-url': { type: 'string' },
  list: { type: 'boolean' },
  json: { type: 'boolean' },
} as const satisfies ParseArgsConfig['options']

type Flag = keyof typeof flags
type Values = Partial<Record<Flag, string | boolean>>

const HELP = `bridge sandbox: a synthetic upstream (docs/use/sandbox.md)

  --port N          port of the API; default 0: a free one
  --admin-port N    port of the admin API; default 0: a free one
  --host ADDRESS    address of both, default 127.0.0.1; 0.0.0.0 opens both to other machines
  --scenario NAME   default normal; --list shows all
  --plan NAME       ${planNames.join(', ')}; default advanced
  --key TEXT        the valid API key, default sandbox-key
  --seed N          seed of the generated market, default 1
  --speed X         market seconds per real second, default 1; rate limits use real time
  --weekly-quota N  instead of the plan's
  --rate X          requests a second, instead of the plan's
  --burst N         requests at once, instead of the plan's
  --documents-url U prefix of document addresses, default the sandbox's own
  --list            lists the scenarios; with --json as JSON`

/**
 * Runs the sandbox until the signal aborts, then closes everything.
 * @throws BridgeError `usage` for a wrong flag, `failed` where a port is taken
 */
export async function runSandboxCommand(args: string[], context: SandboxContext): Promise<void> {
  if (asksForHelp(args)) {
    context.stdout(HELP)
    return
  }
  const values = readFlags('sandbox', args, flags)
  if (values.list === true) {
    for (const line of scenarioList(values.json === true)) context.stdout(line)
    return
  }
  const sandbox = await startSandbox(sandboxOptions(values), { clock: context.clock })
  const { url, adminUrl, key } = sandbox
  context.stdout(JSON.stringify({ ready: true, url, admin: adminUrl, key }))
  await aborted(context.signal)
  await sandbox.close()
}

function scenarioList(asJson: boolean): string[] {
  const list = Object.entries(scenarios).map(([name, { meaning }]) => ({ name, meaning }))
  if (asJson) return [JSON.stringify(list)]
  const width = Math.max(...list.map(({ name }) => name.length))
  return list.map(({ name, meaning }) => `${name.padEnd(width)}  ${meaning}`)
}

function sandboxOptions(values: Values): SandboxOptions {
  const plan = readPlan(values.plan)
  const port = readNumber(values, 'port', { low: 0, high: 65_535, whole: true })
  const adminPort = readNumber(values, 'admin-port', { low: 0, high: 65_535, whole: true })
  const seed = readNumber(values, 'seed', { low: 0, high: 2 ** 32 - 1, whole: true })
  const speed = readNumber(values, 'speed', { low: 0.001, high: 100_000, whole: false })
  const weeklyQuota = readNumber(values, 'weekly-quota', { low: 0, high: 1e9, whole: true })
  const ratePerSecond = readNumber(values, 'rate', { low: 0.001, high: 1e6, whole: false })
  const burst = readNumber(values, 'burst', { low: 1, high: 1e6, whole: true })
  return {
    ...given('scenario', typeof values.scenario === 'string' ? values.scenario : undefined),
    ...given('key', readKey(values.key)),
    ...given('plan', plan),
    ...given('documentsUrl', readUrl(values['documents-url'])),
    ...given('port', port),
    ...given('adminPort', adminPort),
    ...given('host', typeof values.host === 'string' ? values.host : undefined),
    ...given('seed', seed),
    ...given('speed', speed),
    ...given('weeklyQuota', weeklyQuota),
    ...given('ratePerSecond', ratePerSecond),
    ...given('burst', burst),
  }
}

/** The member, or nothing where it was not given: an absent option takes its default. */
function given<Name extends string, T>(name: Name, value: T | undefined): { [K in Name]?: T } {
  return value === undefined ? {} : ({ [name]: value } as { [K in Name]: T })
}

function readPlan(text: string | boolean | undefined): PlanName | undefined {
  if (typeof text !== 'string') return undefined
  const plan = planNames.find((name) => name === text)
  if (plan !== undefined) return plan
  throw new BridgeError('usage', `there is no plan "${text}"${didYouMean(text, planNames)}`, {
    hint: `--plan is one of ${planNames.join(', ')}.`,
  })
}

function readKey(text: string | boolean | undefined): string | undefined {
  if (typeof text !== 'string') return undefined
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw new BridgeError('usage', '--key must be printable characters without blanks', {
    hint: 'It travels in the request header x-api-key.',
  })
}

function readUrl(text: string | boolean | undefined): string | undefined {
  if (typeof text !== 'string') return undefined
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
  range: { low: number; high: number; whole: boolean },
): number | undefined {
  const text = values[flag]
  if (typeof text !== 'string') return undefined
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (number >= range.low && number <= range.high && (!range.whole || Number.isInteger(number))) return number
  const kind = range.whole ? 'a whole number' : 'a number'
  throw new BridgeError(
    'usage',
    `--${flag} must be ${kind} from ${range.low} to ${range.high}, got "${text}"`,
    {
      hint: 'bridge sandbox --help lists the flags.',
    },
  )
}
