/**
 * Shares the event loop among all searches of the archive: one time slice per tick, given to the callers in rotation. While
 * another caller needs the loop for other work, callers that search all the time share an eighth of it. A search is not
 * interrupted; `query.ts` bounds how long one call takes.
 */
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'

/** Milliseconds of one tick in which a search may begin; the one that runs then is finished. */
const SLICE_MS = 15
/**
 * Share of the time that callers out of credit get together while others need the event loop. Each slice holds up every
 * delivery in flight, so a quarter would already cost webhooks more than a fifth of their rate.
 */
const SHARE = 0.125
/** Search time that a caller saves up: usual reads never wait for credit. */
const MOST_CREDIT_MS = 3 * SLICE_MS
/**
 * Most that a caller may owe for a search that took longer, on a machine with more work than time. Bounded, because a suspended
 * process would otherwise cost the caller of its search minutes.
 */
const MOST_DEBT_MS = 10 * SLICE_MS
/** After so long without a search a caller has full credit again. */
const FORGET_MS = (MOST_CREDIT_MS + MOST_DEBT_MS) / SHARE
/** For so long after a read a caller is taken to need the event loop: for its next request or its deliveries. */
const NEED_MS = 100

/** The caller of searches that belong to no token: webhook deliveries and the shared reads of live streams. */
export const OWN_SEARCHES = 'bridge'

/** Runs searches within the time slice of a tick. */
export type SearchSlices = ReturnType<typeof createSearchSlices>

/** The searches of one caller that wait, and the time it may use before it has to wait for its share. */
interface Line {
  readonly jobs: (() => void)[]
  creditMs: number
  refilledMs: number
  seenMs: number
  /** When it last said that it needs the event loop. */
  neededMs: number
}

/** Time slices that no search uses yet. */
export function createSearchSlices(clock: Clock) {
  /** Of all callers that have read lately, in the order of their turns. */
  const lines = new Map<string, Line>()
  /** When this tick's first search began; null where there was none. */
  let beganMs: number | null = null
  let isAsleep = false

  /** The first search of a tick always has time. */
  const hasTime = (): boolean => {
    if (beganMs !== null) return clock.now() - beganMs < SLICE_MS
    beganMs = clock.now()
    void nextSlice()
    return true
  }
  const nextSlice = async (): Promise<void> => {
    await yieldToEventLoop()
    beganMs = null
    serve()
  }
  const lineOf = (caller: string): Line => {
    const nowMs = clock.now()
    const line = lines.get(caller) ?? newLine(nowMs)
    line.seenMs = nowMs
    lines.set(caller, line)
    return line
  }
  /** The caller whose search runs next; null where none waits, or all that wait are out of credit and others are not. */
  const next = (): string | null => {
    const nowMs = clock.now()
    for (const [caller, line] of lines) {
      const isOver = line.jobs.length === 0 && Math.abs(nowMs - line.seenMs) >= FORGET_MS
      if (isOver) lines.delete(caller)
    }
    const waiting = [...lines].filter(([, line]) => line.jobs.length > 0)
    for (const [, line] of waiting) refill(line, nowMs, SHARE / waiting.length)
    const isNeeded = [...lines.values()].some(
      ({ jobs, neededMs }) => jobs.length === 0 && Math.abs(nowMs - neededMs) < NEED_MS,
    )
    const turn = isNeeded ? waiting.find(([, line]) => line.creditMs > 0) : waiting[0]
    return turn?.[0] ?? null
  }
  const serve = (): void => {
    let caller = next()
    while (caller !== null && hasTime()) {
      runFirst(caller)
      caller = next()
    }
    const isWaiting = [...lines.values()].some(({ jobs }) => jobs.length > 0)
    if (!isWaiting || beganMs !== null || isAsleep) return
    isAsleep = true
    clock.after(SLICE_MS, () => {
      isAsleep = false
      serve()
    })
  }
  /** Runs the caller's first search; its next one comes after those of the others. */
  const runFirst = (caller: string): void => {
    const line = lineOf(caller)
    lines.delete(caller)
    lines.set(caller, line)
    const startedMs = clock.now()
    line.jobs.shift()?.()
    line.creditMs = Math.max(-MOST_DEBT_MS, line.creditMs - (clock.now() - startedMs))
  }
  return {
    /** The caller needs the event loop, if only for reads from memory: others that search all the time hold back. */
    need(caller: string): void {
      lineOf(caller).neededMs = clock.now()
    },
    /** Runs `search` now if this tick has time left and it is the caller's turn, else when that comes. */
    run: <T>(search: () => T, caller: string = OWN_SEARCHES): Promise<T> =>
      new Promise((resolve, reject) => {
        lineOf(caller).jobs.push(() => {
          try {
            resolve(search())
          } catch (error) {
            reject(error)
          }
        })
        serve()
      }),
  }
}

function newLine(nowMs: number): Line {
  const never = Number.NEGATIVE_INFINITY
  return { jobs: [], creditMs: MOST_CREDIT_MS, refilledMs: nowMs, seenMs: nowMs, neededMs: never }
}

/** Adds what the caller has saved up since the last time. */
function refill(line: Line, nowMs: number, share: number): void {
  const gainedMs = Math.max(0, nowMs - line.refilledMs) * share
  line.creditMs = Math.min(MOST_CREDIT_MS, line.creditMs + gainedMs)
  line.refilledMs = nowMs
}
