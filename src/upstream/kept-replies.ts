/**
 * Replies that are still valid, in memory. Owns how many are kept, and that an old one is never given. Refuses to ask for
 * new ones.
 */
import type { Clock } from '../lifecycle/clock.ts'
import type { FundReply } from './fund-reply.ts'

/** Most replies, and most characters of them. */
const MOST_REPLIES = 2_000
const MOST_CHARACTERS = 16 * 1024 * 1024

/** A memory of replies by their targets. */
export interface KeptReplies {
  /** The reply with what is left of its times; null where none is valid. */
  get(target: string): FundReply | null
  /** Keeps it for its `validMs` from `fromMs` on; the oldest go where there is no room. */
  keep(target: string, reply: FundReply, fromMs: number): void
}

/** An empty memory. */
export function createKeptReplies(
  clock: Clock,
  { mostReplies = MOST_REPLIES, mostCharacters = MOST_CHARACTERS } = {},
): KeptReplies {
  const kept = new Map<string, { reply: FundReply; fromMs: number }>()
  let characters = 0
  const drop = (target: string): void => {
    characters -= kept.get(target)?.reply.text.length ?? 0
    kept.delete(target)
  }
  return {
    get(target) {
      const found = kept.get(target)
      if (found === undefined) return null
      const { reply, fromMs } = found
      const passedMs = clock.now() - fromMs
      // A clock that was set back says nothing of how old it is.
      if (passedMs < 0 || passedMs >= reply.validMs) {
        drop(target)
        return null
      }
      const { retryAfterMs, validMs } = reply
      const againMs = retryAfterMs === null ? null : Math.max(0, retryAfterMs - passedMs)
      return { ...reply, validMs: validMs - passedMs, retryAfterMs: againMs }
    },
    keep(target, reply, fromMs) {
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
