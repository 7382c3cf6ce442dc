/**
 * Runs `bridge doctor`: checks everything that a bridge needs and prints what to do about each finding. It repairs
 * nothing and uses at most one request of the upstream's weekly quota.
 */
import { BridgeError } from '../../errors.ts'
import { openFilesLimit } from '../../lifecycle/open-files.ts'
import { holderOf } from '../../log-embedded/lock.ts'
import { fileNeedsOf } from '../../settings/file-needs.ts'
import { type Examined, examineSettings, type Settings } from '../../settings/settings.ts'
import { checkBridge } from '../doctor/bridge.ts'
import { checkExposure } from '../doctor/exposure.ts'
import {
  type Finding,
  findingLines,
  findingsJson,
  fine,
  throwIfFailed,
  warn,
  withoutSecrets,
} from '../doctor/finding.ts'
import { checkGuard } from '../doctor/guard.ts'
import { checkKafka } from '../doctor/kafka.ts'
import { checkKey } from '../doctor/key.ts'
import { checkListening } from '../doctor/listening.ts'
import { checkDataDir, checkNode, checkOpenFiles, checkPrivacy } from '../doctor/machine.ts'
import { checkSettings } from '../doctor/settings.ts'
import { checkUpstream } from '../doctor/upstream.ts'
import { command } from '../terminal/command.ts'
import type { CommandContext } from '../terminal/context.ts'
import { painter } from '../terminal/text.ts'

const flags = { json: { type: 'boolean' }, 'no-spend': { type: 'boolean' } } as const

const HELP = `One line per check: ok, warn or fail, the finding, and what to do after an arrow.
  --json       the findings as one line of JSON
  --no-spend   does not test the key, which costs one request of the quota; where a bridge
               runs, its status is used instead and nothing is spent

Exit codes: 0 nothing failed, 3 settings, 4 upstream, 5 Kafka, 1 anything else`

const SPEC = {
  name: 'doctor',
  does: 'checks what a bridge with these settings needs (docs/run/operating.md)',
  help: HELP,
  flags,
} as const

/** Prints the findings. Rejects with the most serious failure. */
export const doctorCommand = command(SPEC, async ({ values }, context) => {
  const examined = examineSettings(context.env)
  const findings = await examine(examined, values['no-spend'] !== true, context)
  const clean = withoutSecrets(examined.settings.secrets)
  const lines =
    values.json === true
      ? [findingsJson(findings, clean)]
      : findingLines(findings, painter(context.colour), clean)
  for (const line of lines) context.stdout(line)
  throwIfFailed(findings)
})

async function examine(
  examined: Examined,
  maySpend: boolean,
  context: Pick<CommandContext, 'clock' | 'signal' | 'env'>,
): Promise<Finding[]> {
  const { settings } = examined
  const { clock, signal } = context
  const data = checkDataDir(settings.dataDir)
  const holder = heldBy(settings.dataDir)
  const held = holder === null ? '' : `, held by ${holder}`
  const machine = [
    checkNode(process.version),
    { ...data, finding: `${data.finding}${held}` },
    ...checkPrivacy(settings.dataDir),
    checkOpenFiles(fileNeedsOf(settings), openFilesLimit()),
  ]
  const bridge = await checkBridge(settings, holder, clock, signal)
  // A process that holds the directory has its ports.
  const listening = holder === null ? await checkListening(settings, bridge.answers) : []
  const upstream =
    settings.upstream === null
      ? { reached: false, findings: [] }
      : await checkUpstream(settings.upstream.url, clock, signal)
  const obstacle =
    examined.errors.length > 0
      ? 'settings are missing or wrong'
      : !upstream.reached
        ? 'the upstream cannot be reached'
        : holder !== null || data.level === 'fail'
          ? 'the unit that it costs cannot be recorded in the data directory'
          : null
  const key = bridge.status === null ? await keyFindings(settings, { maySpend, obstacle }, context) : []
  return [
    ...checkSettings(examined, clock.now()),
    ...(await checkKafka({ kafka: settings.kafka, polls: settings.roles.includes('poller') }, clock, signal)),
    ...machine,
    ...checkGuard(settings),
    ...checkExposure(settings, context.env),
    ...upstream.findings,
    ...key,
    ...bridge.findings,
    ...listening,
  ]
}

/** The findings of the one request that costs a unit, or why it was not sent. */
async function keyFindings(
  { upstream, native, dataDir, roles, kafka }: Settings,
  { maySpend, obstacle }: { maySpend: boolean; obstacle: string | null },
  { clock, signal }: Pick<CommandContext, 'clock' | 'signal'>,
): Promise<Finding[]> {
  if (upstream === null || !roles.includes('poller')) return []
  if (!maySpend) return [fine('key', 'not tested (--no-spend)')]
  if (kafka !== null) return [fine('key', 'not tested: with Kafka only the leader counts units')]
  if (obstacle === null) return checkKey({ upstream, native, dataDir, clock, signal })
  const todo = 'fix that first, then run bridge doctor again'
  return [warn('key', `not tested: ${obstacle}`, todo)]
}

/** Who holds the data directory; null also where the lock cannot be read, which `checkDataDir` reports. */
function heldBy(dataDir: string): string | null {
  try {
    return holderOf(dataDir)
  } catch (error) {
    if (error instanceof BridgeError) return null
    throw error
  }
}
