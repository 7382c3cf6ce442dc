/** Works out which events a restored log shares with the epochs that it had before, and with those of the log that it replaces. */
import type { EarlierEpochs } from '../log/events.ts'

/** A log that a restore ends: its epoch, and what it knew of earlier ones. */
export interface EndedLog {
  epoch: string
  earlier: EarlierEpochs | null
}

/**
 * The earlier epochs of a log that was restored just now and keeps the backup's events up to `through`. `present`: the log
 * that it replaces; null where that cannot be read, or there was none.
 */
export function earlierAfterRestore(
  through: number,
  backup: EndedLog,
  present: EndedLog | null,
): EarlierEpochs {
  const epochs: Record<string, number> = {}
  for (const [epoch, shared] of Object.entries(backup.earlier?.epochs ?? {})) {
    epochs[epoch] = Math.min(shared, through)
  }
  epochs[backup.epoch] = through
  if (present === null) return { through, epochs }
  const common = present.earlier?.epochs[backup.epoch] ?? epochs[present.epoch] ?? through
  epochs[present.epoch] ??= Math.min(common, through)
  for (const [epoch, shared] of Object.entries(present.earlier?.epochs ?? {})) {
    epochs[epoch] ??= Math.min(shared, common, through)
  }
  return { through, epochs }
}
