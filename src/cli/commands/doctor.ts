/**
 * `bridge doctor`: looks at everything that a bridge needs, and says what to do about each finding. Owns the order of the
 * checks and which are left out. Refuses to repair, and to spend more than one unit.
 */
import { readFileSync } from 'node:fs'
import { BridgeError } from '../../errors.ts'
import { holderOf } from '../../log-embedded/lock.ts'
import { type Examined, examineSettings, type Settings } from '../../settings/settings.ts'
import { openFilesLimit } from '../../streams/limits/connection-slots.ts'
import { checkBridge } from '../doctor/bridge.ts'
import {
  type Finding,
  findingLines,
  findingsJson,
  fine,
  throwIfFailed,
  withoutSecrets,
} from '../doctor/finding.ts'
import { checkGuard } from '../doctor/guard.ts'
import { checkKafka } from '../doctor/kafka.ts'
import { checkKey } from '../doctor/key.ts'
import { checkDataDir, checkNode, checkOpenFiles } from '../doctor/machine.ts'
import { checkSettings } from '../doctor/settings.ts'
import { checkUpstream } from '../doctor/upstream.ts'
import { asksForHelp, readFlags } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { painter } from '../terminal/text.ts'

const flags = { json: { type: 'boolean' }, 'no-spend': { type: 'boolean' } } as const

const HELP = `bridge doctor: checks what a bridge with these settings needs (docs/run/operating.md)

One line a check: ok, warn or fail, what was found, and after an arrow what to do.
  --json       the findings as one line of JSON
  --no-spend   does not try the key; trying it costs one request of the quota, and only
               where no bridge runs: a running one is asked instead

Exit codes: 0 nothing failed, 3 settings, 4 upstream, 5 Kafka, 1 anything else`

/** Prints the findings. Rejects with the gravest where a check failed. */
export async function doctorCommand(args: string[], context: CommandContext): Promise<void> {
  if (asksForHelp(args)) {
    context.stdout(HELP)
    return
  }
  const values = readFlags('doctor', args, flags)
  const examined = examineSettings(context.env, (path) => readFileSync(path, 'utf8'))
  const findings = await examine(examined, values['no-spend'] !== true, context)
  const clean = withoutSecrets(examined.settings.secrets)
  const lines =
    values.json === true
      ? [findingsJson(findings, clean)]
      : findingLines(findings, painter(context.colour), clean)
  for (const line of lines) context.stdout(line)
  throwIfFailed(findings)
}

async function examine(
  examined: Examined,
  maySpend: boolean,
  context: Pick<CommandContext, 'clock' | 'signal'>,
): Promise<Finding[]> {
  const { settings } = examined
  const { clock, signal } = context
  const data = checkDataDir(settings.dataDir)
  const holder = heldBy(settings.dataDir)
  const held = holder === null ? '' : `, held by ${holder}`
  const machine = [
    checkNode(process.version),
    { ...data, finding: `${data.finding}${held}` },
    checkOpenFiles(settings.streamMaxClients, openFilesLimit()),
  ]
  const bridge = await checkBridge(settings, holder, clock, signal)
  const upstream =
    settings.upstream === null
      ? { reached: false, findings: [] }
      : await checkUpstream(settings.upstream.url, clock, signal)
  const obstacle =
    examined.errors.length > 0
      ? 'the settings are wrong'
      : !upstream.reached
        ? 'the upstream cannot be reached'
        : holder !== null || data.level === 'fail'
          ? 'its unit could not be counted in the data directory'
          : null
  const key = bridge.status === null ? await keyFindings(settings, { maySpend, obstacle }, context) : []
  return [
    ...checkSettings(examined),
    ...(await checkKafka({ kafka: settings.kafka, polls: settings.roles.includes('poller') }, clock, signal)),
    ...machine,
    ...checkGuard(settings),
    ...upstream.findings,
    ...key,
    ...bridge.findings,
  ]
}

/** The findings of the one paid request, or why it was not made. */
async function keyFindings(
  { upstream, native, dataDir, roles, kafka }: Settings,
  { maySpend, obstacle }: { maySpend: boolean; obstacle: string | null },
  { clock, signal }: Pick<CommandContext, 'clock' | 'signal'>,
): Promise<Finding[]> {
  if (upstream === null || !roles.includes('poller')) return []
  if (!maySpend) return [fine('key', 'not tried (--no-spend)')]
  if (kafka !== null) return [fine('key', 'not tried: with Kafka only the bridge that leads counts units')]
  if (obstacle === null) return checkKey({ upstream, nativeKind: native.kind, dataDir, clock, signal })
  const todo = 'see to that first, then ask again'
  return [{ level: 'warn', name: 'key', finding: `not tried: ${obstacle}`, todo, area: 'upstream' }]
}

/** Who holds the data directory; a lock that cannot be looked at is told by the check of the directory. */
function heldBy(dataDir: string): string | null {
  try {
    return holderOf(dataDir)
  } catch (error) {
    if (error instanceof BridgeError) return null
    throw error
  }
}
