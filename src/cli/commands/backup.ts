/**
 * Runs `bridge backup`: copies the embedded log to a file while a bridge goes on writing it, checks the copy, and prints what
 * it holds.
 */
import { BridgeError } from '../../errors.ts'
import { type Backup, backUp } from '../../log-embedded/backup.ts'
import { noteBackup } from '../../log-embedded/backup-note.ts'
import { examineSettings } from '../../settings/settings.ts'
import { command } from '../terminal/command.ts'
import { bytesText, counted } from '../terminal/text.ts'

/** The settings that a backup depends on; others may be wrong. */
const NEEDED = /^BRIDGE_(DATA_DIR|KAFKA_BROKERS)(_FILE)?$/

const flags = { json: { type: 'boolean' } } as const

const HELP = `FILE is a new file, or a directory, which gets a file named by the time. The directory must exist, so that a
backup never lies below the mount point of a volume that is away. The backup holds events, state, tokens and webhook
endpoints as they were at one moment, but not the history of webhook attempts.
It is checked page by page, and appears only once it is complete. bridge restore puts it back.
  --json    what it holds as one line of JSON

Secrets of webhooks in it are encrypted with BRIDGE_SECRET_KEY: keep that key too, in another place.
With Kafka the log lies in the topics: see docs/run/on-kafka.md.`

const SPEC = {
  name: 'backup',
  words: ['FILE'],
  does: 'copies the log of BRIDGE_DATA_DIR while a bridge runs, and checks the copy (docs/run/backup.md)',
  help: HELP,
  flags,
} as const

/** Prints what was backed up. Rejects when there is no log, or the copy fails the check. */
export const backupCommand = command(SPEC, async ({ values, words }, { stdout, stderr, clock, env }) => {
  const { settings, errors } = examineSettings(env)
  const wrong = errors.filter(({ field }) => NEEDED.test(field))
  if (wrong.length > 0) {
    throw new BridgeError('settings', 'settings that a backup depends on are wrong', {
      errors: wrong,
      hint: 'Every setting, its default and its meaning: docs/configuration.md',
    })
  }
  if (settings.kafka !== null) {
    throw new BridgeError(
      'settings',
      'with BRIDGE_KAFKA_BROKERS the log lies in the topics, not on this disk',
      {
        hint: 'Back the topics up with a mirror cluster: docs/run/on-kafka.md',
      },
    )
  }
  const backup = await backUp({ dataDir: settings.dataDir, target: words[0] ?? '', clock })
  const fault = noteBackup(settings.dataDir, backup)
  if (fault !== null) {
    stderr(`the backup is good, but its time could not be noted for the metrics of the bridge: ${fault}`)
  }
  stdout(values.json === true ? JSON.stringify(backup) : backupLine(backup))
})

function backupLine({ file, bytes, epoch, sequence, time }: Backup): string {
  if (epoch === null) return `${file}: a log that was never used, ${bytesText(bytes)}, checked`
  const last = time === null ? 'no event' : `${counted(sequence, 'event')}, the last of ${time}`
  return `${file}: ${last}, epoch ${epoch}, ${bytesText(bytes)}, checked`
}
