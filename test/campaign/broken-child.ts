/**
 * Runs as a worker process of the campaign: plays each world that breaks assumptions, then on the real logs that are asked
 * for, and sends back the verdict. It has a broker of its own.
 */
import { type BrokenCase, type BrokenVerdict, playBroken } from '../support/worlds/broken/broken-world.ts'
import { recordBroken } from '../support/worlds/real-log/recorded-world.ts'
import { type PlayedOnLog, type RealLogName, RealLogs } from './real-logs.ts'
import { answerCases } from './workers.ts'

/** A world, and the real logs that it is also played on. */
export interface CaseOnLogs {
  world: BrokenCase
  logs: readonly RealLogName[]
  /** The release of Kafka, e.g. `4`. */
  kafka: string
}

/** What came of it. */
export interface VerdictOnLogs {
  verdict: BrokenVerdict
  onLogs: PlayedOnLog[]
}

const realLogs = new RealLogs()
process.once('disconnect', async () => {
  await realLogs[Symbol.asyncDispose]()
  process.exit()
})

answerCases(async ({ world, logs, kafka }: CaseOnLogs): Promise<VerdictOnLogs> => {
  if (logs.length === 0) return { verdict: playBroken(world), onLogs: [] }
  const recorded = recordBroken(world)
  return { verdict: recorded.verdict, onLogs: await realLogs.play(recorded.world, logs, kafka) }
})
