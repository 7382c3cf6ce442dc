/**
 * Runs `bridge restore`: puts a backup of the embedded log into the place of the present one and begins a new epoch, so that
 * every reader gets a gap event.
 */
import { isoMillis, isoOrNull } from '../../core/dates.ts'
import { BridgeError } from '../../errors.ts'
import { type Absence, countAbsence } from '../../ingest/writer-state/absence.ts'
import { readingBackup, type StagedRestore, stageRestore } from '../../log-embedded/restore.ts'
import { loadCalendar } from '../../settings/calendar-file.ts'
import { loadSettings, type Settings } from '../../settings/settings.ts'
import { command } from '../terminal/command.ts'
import type { CommandContext } from '../terminal/context.ts'
import { counted } from '../terminal/text.ts'
import { restoreOnKafka } from './restore-kafka.ts'

const flags = { json: { type: 'boolean' }, 'dry-run': { type: 'boolean' } } as const

const HELP = `  bridge restore BACKUP [--dry-run] [--json]   into BRIDGE_DATA_DIR
  bridge restore [--dry-run] [--json]          with BRIDGE_KAFKA_BROKERS, in mirrored topics (docs/run/on-kafka.md)

BACKUP is a file of bridge backup, or a copied data directory, also BRIDGE_DATA_DIR itself after a snapshot
of the machine was put back. Stop the bridge first; start it afterwards with bridge run.
  - the backup is copied and checked page by page; it is only read
  - the log keeps its events and gets a new epoch: readers get a gap event and read at least an hour again,
    so that they miss nothing that differs
  - the time since the backup counts against the weekly quota as if polled at the plan's pace
  - the present files are set aside in BRIDGE_DATA_DIR/replaced-<time>, and never deleted
  - tokens, webhook endpoints and their positions are those of the backup
  --dry-run   checks the backup and says what would happen
  --json      the result as one line of JSON

Exit codes: 0 restored, 1 a bridge runs, or the backup is missing or damaged, 3 wrong settings, 5 Kafka`

const SPEC = {
  name: 'restore',
  words: ['[BACKUP]'],
  does: 'puts a backup back and begins a new epoch (docs/run/backup.md)',
  help: HELP,
  flags,
} as const

/** Prints what was restored. Rejects with nothing changed when a bridge runs or the backup is damaged. */
export const restoreCommand = command(SPEC, async ({ values, words }, context) => {
  const settings = loadSettings(context.env)
  const options = { isDry: values['dry-run'] === true, json: values.json === true }
  const { kafka } = settings
  const [backup] = words
  if (kafka === null && backup === undefined) {
    throw new BridgeError('usage', 'missing argument: BACKUP', {
      hint: 'Name a file that bridge backup has written. bridge restore --help explains it.',
    })
  }
  if (kafka !== null && backup !== undefined) {
    throw new BridgeError('usage', 'with BRIDGE_KAFKA_BROKERS the log lies in the topics: name no backup', {
      hint: 'Mirror the topics or put them back, then run bridge restore without an argument: docs/run/on-kafka.md',
    })
  }
  if (kafka !== null) await restoreOnKafka({ settings, kafka, ...options }, context)
  else restore(backup ?? '', settings, { ...context, ...options })
})

interface RestoreContext extends CommandContext {
  isDry: boolean
  json: boolean
}

function restore(backup: string, settings: Settings, context: RestoreContext): void {
  const { stdout, stderr, clock, isDry, json } = context
  const { dataDir, native, plan, gatewayUnits, calendarFile } = settings
  const calendar = loadCalendar(calendarFile)
  const staged = stageRestore({
    dataDir,
    backup,
    nativeKind: native.kind,
    clock,
    onUpgrade: ({ sequence, latest }) => stderr(`upgrading the backup: event ${sequence} of ${latest}`),
    onRenewed: (sequence) => stderr(`writing the new epoch: event ${sequence} of ${staged.backup.sequence}`),
  })
  try {
    const { epoch, sequence, time, takenAt } = staged.backup
    const nowMs = clock.now()
    const sinceMs = takenAt === null ? null : Date.parse(takenAt)
    const stored = { epoch, sequence, rows: staged.rows }
    const by = { plan: { ...plan, gatewayUnits }, calendar }
    const absence = readingBackup(backup, () => countAbsence(stored, by, { sinceMs, nowMs }))
    for (const line of planLines(dataDir, staged, absence, isDry)) stderr(line)
    const since = isoOrNull(absence.sinceMs)
    const result = { previousEpoch: epoch, sequence, time, takenAt, since, units: absence.units }
    const done = isDry ? { epoch: null, replaced: null } : staged.replace(absence.rows)
    if (json) stdout(JSON.stringify({ restored: !isDry, ...done, ...result }))
    else if (!isDry) stdout(`restored: ${counted(sequence, 'event')}, now of epoch ${done.epoch}`)
    if (done.replaced !== null) stderr(`the files that were there are in ${done.replaced}`)
    if (!isDry) stderr('start the bridge with bridge run: it reads what came since, or leaves an open gap')
  } finally {
    staged.release()
  }
}

/** What will happen, one sentence a line. */
function planLines(
  dataDir: string,
  { backup, present, presentFault }: StagedRestore,
  { units, sinceMs }: Absence,
  isDry: boolean,
): string[] {
  const { epoch, sequence, time, takenAt } = backup
  const last = time === null ? 'it holds no event' : `it ends with event ${sequence} of ${time}`
  const taken = takenAt === null ? '' : `, taken ${takenAt}`
  const will = isDry ? 'would' : 'will'
  const aside = `its files ${will} be set aside there`
  const held =
    presentFault !== null
      ? `holds a log that cannot be read (${presentFault}): ${aside}`
      : present === null
        ? 'holds no log'
        : `holds event ${present.sequence} of epoch ${present.epoch}: ${aside}`
  return [
    `the backup of epoch ${epoch} is whole${taken}: ${last}`,
    `${dataDir} ${held}`,
    `readers with a cursor of another epoch ${will} get a gap event and read at least an hour again`,
    `tokens, webhook endpoints and their positions ${will} be those of the backup`,
    sinceMs === null
      ? 'no quota unit is counted: the backup is of a bridge that never sent a request'
      : `${counted(units, 'quota unit')} ${will} be counted as spent since ${isoMillis(sinceMs)}`,
  ]
}
