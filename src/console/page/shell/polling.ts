/** Keeps an answer of the bridge fresh in a component: asked for again while the page is visible, with its age. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Answers, Call } from './answers.ts'
import type { ApiProblem, AskOptions } from './api.ts'
import { useConsole } from './services.ts'

/** An answer and how old it is. */
export interface Fresh<T> {
  /** The last good answer; null before the first. */
  value: T | null
  /** When it came, ms since 1970 by the bridge's clock. */
  atMs: number | null
  /** Why the last request had no answer; null where it had one. */
  problem: ApiProblem | null
  /** Asks at once. */
  reload(): void
}

/** A failure that may pass is shown until the next answer: one that is rarely asked for would show it for long. */
const RETRY_MS = 5_000

/**
 * Asks for an answer now and again `everyMs` after each answer, only while the page is visible; `everyMs` null: once.
 * `call` null: not at all. A change of call or parameters forgets the last answer; one of `everyMs` counts from the last.
 */
export function useAnswer<C extends Call>(
  call: C | null,
  options: AskOptions = {},
  everyMs: number | null = 5000,
): Fresh<Answers[C]> {
  const { api, clock, visibility } = useConsole()
  const key = JSON.stringify([call, options.with, options.body])
  const nothing = { value: null, atMs: null, problem: null }
  const [held, setHeld] = useState<{ key: string } & Omit<Fresh<Answers[C]>, 'reload'>>({ key, ...nothing })
  const reload = useRef((): void => {})
  useEffect(() => {
    if (call === null) return
    const ended = new AbortController()
    let cancel = (): void => {}
    let isAsking = false
    let hasAnswer = held.key === key && held.value !== null
    const ask = async (): Promise<void> => {
      cancel()
      if (isAsking || !visibility.get()) return
      isAsking = true
      const result = await api.ask(call, { ...options, signal: ended.signal })
      isAsking = false
      if (ended.signal.aborted) return
      hasAnswer ||= result.ok
      setHeld((before) => {
        const last = before.key === key ? before : { key, ...nothing }
        return result.ok
          ? { key, value: result.value, atMs: clock.now() + api.aheadMs(), problem: null }
          : { ...last, problem: result.problem }
      })
      const mayPass = !result.ok && result.problem.kind !== 'refused'
      const nextMs = pauseMs(everyMs, hasAnswer, mayPass)
      if (nextMs !== null) cancel = clock.after(nextMs, () => void ask())
    }
    const unfollow = visibility.follow(() => {
      if (everyMs !== null || !hasAnswer) void ask()
    })
    reload.current = () => void ask()
    if (!hasAnswer) void ask()
    else if (everyMs !== null) cancel = clock.after(everyMs, () => void ask())
    return () => {
      ended.abort()
      cancel()
      unfollow()
    }
  }, [key, everyMs])
  const { value, atMs, problem } = held.key === key ? held : nothing
  return { value, atMs, problem, reload: () => reload.current() }
}

/** Until the next look; null where none is wanted. What failed at first is asked for again also where one answer is enough. */
function pauseMs(everyMs: number | null, hasAnswer: boolean, mayPass: boolean): number | null {
  if (everyMs === null) return hasAnswer ? null : RETRY_MS
  return mayPass ? Math.min(everyMs, RETRY_MS) : everyMs
}
