/**
 * Asks for the bridge's status again and again while the page is visible, once for all components, so that each screen shows
 * within three seconds that the bridge is gone, or accepts requests and does not answer.
 */
import type { StatusAnswer } from './answers.ts'
import type { ApiProblem, ConsoleApi } from './api.ts'
import type { PageClock } from './clock.ts'
import { createStore, type Store } from './store.ts'
import type { Visibility } from './visibility.ts'

/** What is known about the bridge. */
export interface Reported {
  /** The last status; null before the first. */
  status: StatusAnswer | null
  /** When it came, ms since 1970 by the bridge's clock. */
  atMs: number | null
  /** Why the last request had no answer; null where it had one. */
  problem: ApiProblem | null
  /** Since when there is no answer, by the bridge's clock. */
  failingSinceMs: number | null
}

/** A status is newer than that while the bridge answers: one request, and the wait before the next. */
const NEWS_MS = 3000

/**
 * The time by which a status is judged, ms since 1970 by the bridge's clock: its own, where it is old, as while this page is cut
 * off or was hidden. What the bridge has done since is not known, so that nothing is late or silent by it. `presentMs`: now.
 */
export function judgedAtMs({ atMs }: Pick<Reported, 'atMs'>, presentMs: number): number {
  return atMs === null ? presentMs : Math.min(presentMs, atMs + NEWS_MS)
}

/** The status, asked for again and again. */
export interface StatusWatch {
  reported: Store<Reported>
  /** Asks at once, as when a stream has ended. */
  askNow(): void
  start(): void
  stop(): void
}

/** From an answer to the next request. */
export const STATUS_EVERY_MS = 1000
/** A request that is unanswered for so long is said to be; its answer is still taken. Both together are below three seconds. */
const PATIENCE_MS = 1500
/** After that the request is sent anew. */
const LIMIT_MS = 10_000
const SILENT: ApiProblem = {
  kind: 'unreachable',
  status: null,
  code: null,
  detail: 'The bridge does not answer in time.',
  hint: null,
  errors: [],
  retryInMs: null,
}

/** A watch that is not started. */
export function createStatusWatch(api: ConsoleApi, clock: PageClock, visibility: Visibility): StatusWatch {
  const reported = createStore<Reported>({ status: null, atMs: null, problem: null, failingSinceMs: null })
  let isOn = false
  let isAsking = false
  let cancel = (): void => {}
  const now = (): number => clock.now() + api.aheadMs()
  const failed = (problem: ApiProblem): void => {
    const before = reported.get()
    if (isOn) reported.set({ ...before, problem, failingSinceMs: before.failingSinceMs ?? now() })
  }
  const ask = async (): Promise<void> => {
    cancel()
    if (!isOn || isAsking || !visibility.get()) return
    isAsking = true
    const forget = clock.after(PATIENCE_MS, () => failed(SILENT))
    const result = await api.ask('GET /v1/status', { limitMs: LIMIT_MS })
    forget()
    isAsking = false
    if (!isOn) return
    if (result.ok) reported.set({ status: result.value, atMs: now(), problem: null, failingSinceMs: null })
    else failed(result.problem)
    cancel = clock.after(STATUS_EVERY_MS, () => void ask())
  }
  visibility.follow(() => void ask())
  return {
    reported,
    askNow: () => void ask(),
    start() {
      if (isOn) return
      isOn = true
      void ask()
    },
    stop() {
      isOn = false
      cancel()
    },
  }
}
