/**
 * Questions and answers inside one process, for the logs that have no other. Owns who serves now: the one who began last.
 * Refuses to keep questions: each waits in its own call.
 */
import { aborted } from '../lifecycle/aborted.ts'
import { createWakeup } from '../lifecycle/wakeup.ts'
import { type Answering, LONGEST_ANSWER, LONGEST_QUESTION, type Questions } from '../log/log.ts'

interface Server {
  answer: Answering
  /** Aborts when it serves no longer. */
  ended: AbortSignal
  fail(error: unknown): void
}

/** Questions that nobody answers yet. `open` throws once the log is closed, which `closed` tells. */
export function createLocalQuestions(open: () => void, closed: AbortSignal): Questions {
  const wakeup = createWakeup()
  let serving: Server | null = null

  /** The answer; null when `either` aborted or the server failed before. */
  const answerOf = async (server: Server, question: string, either: AbortSignal): Promise<string | null> => {
    // Else whoever listens stays, with the answer, for as long as the server serves.
    const over = new AbortController()
    const signal = AbortSignal.any([either, server.ended, over.signal])
    try {
      const found = await Promise.race([server.answer(question, signal), aborted(signal)])
      if (signal.aborted || found === undefined) return null
      checkAnswer(found)
      return found
    } catch (error) {
      if (!signal.aborted) server.fail(error)
      return null
    } finally {
      over.abort()
    }
  }
  return {
    async ask(question, signal) {
      open()
      checkQuestion(question)
      const either = AbortSignal.any([signal, closed])
      while (!either.aborted) {
        if (serving === null) await wakeup.wait(either)
        else {
          const found = await answerOf(serving, question, either)
          if (found !== null) return found
        }
      }
      signal.throwIfAborted()
      open()
      throw either.reason
    },
    async serve(answer, signal) {
      open()
      const stop = new AbortController()
      const failed = Promise.withResolvers<never>()
      const ended = AbortSignal.any([signal, closed, stop.signal])
      const mine: Server = { answer, ended, fail: failed.reject }
      serving = mine
      wakeup.wake()
      try {
        await Promise.race([aborted(ended), failed.promise])
      } finally {
        if (serving === mine) serving = null
        stop.abort()
      }
    },
  }
}

/** Throws RangeError where a question is too long to travel. */
export function checkQuestion(question: string): void {
  if (question.length > LONGEST_QUESTION) {
    throw new RangeError(`a question of ${question.length} characters: at most ${LONGEST_QUESTION}`)
  }
}

/** Throws RangeError where an answer is too long to travel. */
export function checkAnswer(answer: string): void {
  if (answer.length > LONGEST_ANSWER) {
    throw new RangeError(`an answer of ${answer.length} characters: at most ${LONGEST_ANSWER}`)
  }
}
