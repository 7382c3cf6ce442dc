/** Takes the time at which a page shows words, less the time for which the machine kept the page waiting. */
import type { BrowserPage } from '../chromium.ts'
import { eventually } from '../http/api-client.ts'

/** A timer that is late by more than that was kept waiting: other programs had the processor. */
const TICK_MS = 50
/** More than that is not put down to the machine: the page may have kept itself waiting. */
const MOST_STALLED_MS = 2000

/** Watches from now on. */
export interface PageWatch {
  /** Waits until the words are there: ms from that moment (ms since 1970) to then, without the time that was waited for the processor. */
  shownAfter(sinceMs: number): Promise<number>
}

/**
 * Watches the elements for all of these words. The page itself takes the time: the test's own look may come late on a busy
 * machine. A reader's machine draws one page; that of the tests runs several browsers and bridges on two cores, where each of the
 * page's timers may be late by hundreds of ms.
 */
export async function watchFor(
  page: BrowserPage,
  selectors: readonly string[],
  words: readonly string[],
): Promise<PageWatch> {
  await page.evaluate(`(() => {
    const watch = { shownAtMs: null, stalls: [] }
    globalThis.pageWatch = watch
    let dueMs = Date.now() + ${TICK_MS}
    const noteStall = () => {
      const atMs = Date.now()
      if (atMs - dueMs > ${TICK_MS}) watch.stalls.push([dueMs, atMs])
      dueMs = atMs + ${TICK_MS}
    }
    const tick = () => {
      if (watch.shownAtMs !== null) return
      noteStall()
      setTimeout(tick, ${TICK_MS})
    }
    setTimeout(tick, ${TICK_MS})
    new MutationObserver(() => {
      if (watch.shownAtMs !== null) return
      const text = ${JSON.stringify(selectors)}.map((one) => document.querySelector(one)?.innerText ?? '').join(' ')
      if (!${JSON.stringify(words)}.every((one) => text.includes(one))) return
      noteStall()
      watch.shownAtMs = Date.now()
    }).observe(document.body, { subtree: true, childList: true, characterData: true })
  })()`)
  type Watched = { shownAtMs: number | null; stalls: [number, number][] }
  return {
    async shownAfter(sinceMs) {
      const { shownAtMs, stalls } = await eventually(
        () => page.evaluate<Watched>('pageWatch'),
        (watched) => watched.shownAtMs !== null,
      )
      const stalledMs = stalls.reduce(
        (sum, [fromMs, toMs]) => sum + Math.max(0, toMs - Math.max(fromMs, sinceMs)),
        0,
      )
      return (shownAtMs ?? 0) - sinceMs - Math.min(MOST_STALLED_MS, stalledMs)
    },
  }
}
