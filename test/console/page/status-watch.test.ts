/** The page learns within three seconds that the bridge does not answer, and asks nothing while nobody looks. */
import { expect, test } from 'vitest'
import type { StatusAnswer } from '../../../src/console/page/shell/answers.ts'
import type { ApiResult, ConsoleApi } from '../../../src/console/page/shell/api.ts'
import type { PageClock } from '../../../src/console/page/shell/clock.ts'
import { createStatusWatch } from '../../../src/console/page/shell/status-watch.ts'
import { createStore } from '../../../src/console/page/shell/store.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const AHEAD_MS = 60_000
const GOOD: ApiResult<StatusAnswer> = { ok: true, value: {} as StatusAnswer, text: '' }

/** A watch whose requests wait until they are answered. */
function watched() {
  const clock = createManualClock()
  const visibility = createStore(true)
  const waiting: ((answer: ApiResult<StatusAnswer>) => void)[] = []
  const ask = () => new Promise<ApiResult<StatusAnswer>>((resolve) => waiting.push(resolve))
  const api = { ask, aheadMs: () => AHEAD_MS } as unknown as ConsoleApi
  const pageClock: PageClock = { ...clock, frame: () => () => {} }
  const watch = createStatusWatch(api, pageClock, visibility)
  const answer = async (): Promise<void> => {
    waiting.shift()?.(GOOD)
    await Promise.resolve()
    await Promise.resolve()
  }
  return { clock, visibility, waiting, watch, answer }
}

test('a bridge that freezes right after an answer is said not to answer within three seconds', async () => {
  const { clock, watch, answer, waiting } = watched()
  watch.start()
  await answer()
  const frozenMs = clock.now()
  expect(watch.reported.get()).toMatchObject({ problem: null, atMs: frozenMs + AHEAD_MS })
  clock.advance(2999)
  expect(waiting).toHaveLength(1)
  const { problem, failingSinceMs } = watch.reported.get()
  expect(problem).toMatchObject({ kind: 'unreachable', detail: 'The bridge does not answer in time.' })
  expect((failingSinceMs ?? 0) - AHEAD_MS - frozenMs).toBeLessThan(3000)
})

test('an answer that is late is still taken, and ends what was said', async () => {
  const { clock, watch, answer } = watched()
  watch.start()
  clock.advance(5000)
  expect(watch.reported.get().problem).not.toBeNull()
  await answer()
  expect(watch.reported.get()).toMatchObject({ problem: null, failingSinceMs: null, status: {} })
})

test('nothing is asked while the page is hidden, and at once when it is shown', async () => {
  const { clock, watch, answer, waiting, visibility } = watched()
  watch.start()
  await answer()
  visibility.set(false)
  clock.advance(3_600_000)
  expect(waiting).toHaveLength(0)
  visibility.set(true)
  expect(waiting).toHaveLength(1)
})
