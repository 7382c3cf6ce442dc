/**
 * Caches the replies to clients' requests for fund data in memory while they are valid, within limits of count and total
 * size.
 */
import type { Clock } from '../lifecycle/clock.ts'
import type { LeaderReply } from './leader-reply.ts'

/** Most replies, and most characters of them. */
const MOST_REPLIES = 2_000
const MOST_CHARACTERS = 16 * 1024 * 1024

/** A cache of replies by target. */
export type KeptReplies = ReturnType<typeof createKeptReplies>

/** An empty cache. */
export function createKeptReplies(
  clock: Clock,
  { mostReplies = MOST_REPLIES, mostCharacters = MOST_CHARACTERS } = {},
) {
  const kept = new Map<string, { reply: LeaderReply; fromMs: number }>()
  let characters = 0
  const drop = (target: string): void => {
    characters -= kept.get(target)?.reply.text.length ?? 0
    kept.delete(target)
  }
  return {
    /** The reply with the rest of its times; null where none is valid. */
    get(target: string): LeaderReply | null {
      const found = kept.get(target)
      if (found === undefined) return null
      const { reply, fromMs } = found
      const passedMs = clock.now() - fromMs
      // After the clock was set back, the age of a reply is unknown.
      if (passedMs < 0 || passedMs >= reply.validMs) {
        drop(target)
        return null
      }
      const { retryAfterMs, validMs } = reply
      const againMs = retryAfterMs === null ? null : Math.max(0, retryAfterMs - passedMs)
      return { ...reply, validMs: validMs - passedMs, retryAfterMs: againMs }
    },
    /** Keeps the reply for its `validMs` from `fromMs` on; the oldest replies are evicted first. */
    keep(target: string, reply: LeaderReply, fromMs: number): void {
      drop(target)
      if (reply.validMs <= 0 || reply.text.length > mostCharacters) return
      kept.set(target, { reply, fromMs })
      characters += reply.text.length
      for (const oldest of kept.keys()) {
        if (kept.size <= mostReplies && characters <= mostCharacters) break
        drop(oldest)
      }
    },
  }
}
