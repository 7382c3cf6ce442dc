/** What questions inside one process leave behind. Their promises: the suite in `requests.ts`. */
import { expect, test } from 'vitest'
import { createLocalRequests } from '../../src/log-shared/local-requests.ts'
import { liveBytes } from '../support/live-bytes.ts'

/** An answer of that many characters, which nobody else refers to. */
const LONG = 1_000_000
const QUESTIONS = 20

test('a question that was answered leaves nothing behind, its answer neither', async () => {
  const closing = new AbortController()
  const stop = new AbortController()
  const requests = createLocalRequests(() => undefined, closing.signal)
  const signals: WeakRef<AbortSignal>[] = []
  const serving = requests.serve(async (question, signal) => {
    signals.push(new WeakRef(signal))
    return Buffer.alloc(LONG, question).toString('latin1')
  }, stop.signal)
  const before = await liveBytes()
  for (let n = 0; n < QUESTIONS; n++) await requests.send(`question ${n}`, new AbortController().signal)
  const grown = (await liveBytes()) - before
  expect(signals.filter((signal) => signal.deref() !== undefined)).toHaveLength(0)
  expect(grown).toBeLessThan((QUESTIONS * LONG) / 2)
  stop.abort()
  await serving
})
