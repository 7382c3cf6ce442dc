/** Asks the leader for the figures by which it plans its polls; an answer is used for some seconds. */
import { retryLater } from '../../http/problem.ts'
import { type LeaderQuota, QUOTA_REQUEST, readLeaderQuota } from '../../http/schemas/leader-quota-schema.ts'
import { createLeaderClient, type LeaderClientParts } from '../routes/leader-client.ts'
import { Remembered } from './remembered.ts'

/** For so long an answer is used, ms: it has up to 200 KB. */
const USED_MS = 5_000

/** Reads the figures. Rejects with HttpProblem `unavailable` where no leader answers in 10 s. */
export function createLeaderFigures(parts: LeaderClientParts): () => Promise<LeaderQuota> {
  const ask = createLeaderClient(parts)
  const answers = new Remembered<LeaderQuota>(parts.clock, USED_MS)
  return () =>
    answers.get('', async () => {
      const { status, text, refusal } = await ask(QUOTA_REQUEST)
      const figures = status === 200 ? readLeaderQuota(text) : null
      if (figures !== null) return figures
      const { message, hint } =
        status === 503 && refusal !== null
          ? refusal
          : { message: 'the leader runs another version of the bridge', hint: 'Update every node.' }
      throw retryLater('unavailable', hint === null ? message : `${message}. ${hint}`)
    })
}
