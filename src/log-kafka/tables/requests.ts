/**
 * Questions of one process to those that serve, over two topics: questions, and answers. Owns that a question that is still
 * waited for is asked again each second: so it survives the change of who serves and a lost record, and one that is no
 * longer repeated is worked on no longer. Refuses to keep either: both topics are read from their end.
 */
import { randomUUID } from 'node:crypto'
import { aborted } from '../../lifecycle/aborted.ts'
import { sleep } from '../../lifecycle/clock.ts'
import { LONGEST_REQUEST, type RequestHandler } from '../../log/requests.ts'
import { checkRequest, checkResponse } from '../../log-shared/local-requests.ts'
import type { ReaderParts } from '../client/connection.ts'
import { PlainWriter } from '../client/plain-writer.ts'
import { TextAssembly, textRecords } from '../client/text-parts.ts'
import { abortable } from '../client/with-timeout.ts'
import { readPartition } from '../reading/partition-reader.ts'

/** From one asking of a question to the next. */
const REPEAT_MS = 1_000
/** Nobody waits for a question that was not repeated for so long. */
const LEASE_MS = 3_500
/** Questions worked on at a time; others are heard when they are repeated. */
const MOST_AT_ONCE = 1_000

/** Names of the topics in the cluster. */
export interface QuestionTopics {
  questions: string
  answers: string
}

/** What both sides need; `closed` aborts when the log is closed. */
export type QuestionParts = ReaderParts & { closed: AbortSignal }

/** The side that asks. */
export interface Asking {
  ask(question: string, signal: AbortSignal): Promise<string>
  /** Reads answers until the signal aborts, then resolves. */
  run(signal: AbortSignal): Promise<void>
}

/** A side that asks, and has asked nothing. */
export function createAsking(parts: QuestionParts, topics: QuestionTopics): Asking {
  const { clock, closed } = parts
  const writer = new PlainWriter(parts, topics.questions)
  const waiting = new Map<string, { assembly: TextAssembly; resolve(answer: string): void }>()
  const listening = Promise.withResolvers<void>()

  return {
    async ask(question, signal) {
      checkRequest(question)
      const either = AbortSignal.any([signal, closed])
      either.throwIfAborted()
      const id = randomUUID()
      const { promise, resolve } = Promise.withResolvers<string>()
      waiting.set(id, { assembly: new TextAssembly(), resolve })
      try {
        await abortable(either, listening.promise)
        for (;;) {
          await abortable(either, writer.write({ partition: 0, key: id, value: question }))
          const answer = await soon(promise, either)
          if (answer !== null) return answer
        }
      } finally {
        waiting.delete(id)
      }
    },
    async run(signal) {
      for await (const { records } of readPartition(parts, topics.answers, 'end', signal)) {
        for (const record of records) {
          const asked = waiting.get(String(record.key))
          const answer = asked?.assembly.take(record) ?? null
          if (answer !== null) asked?.resolve(answer)
        }
        listening.resolve()
      }
    },
  }

  /** The answer, where it comes before the question is due again. */
  async function soon(answer: Promise<string>, signal: AbortSignal): Promise<string | null> {
    const over = new AbortController()
    try {
      const due = sleep(clock, REPEAT_MS, AbortSignal.any([signal, over.signal]))
      const found = await Promise.race([answer, due])
      signal.throwIfAborted()
      return found ?? null
    } finally {
      over.abort()
    }
  }
}

/** `Questions.serve`. */
export async function serveQuestions(
  parts: QuestionParts,
  topics: QuestionTopics,
  answer: RequestHandler,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController()
  const ended = AbortSignal.any([signal, parts.closed, over.signal])
  const failed = Promise.withResolvers<never>()
  const writer = new PlainWriter({ ...parts, closed: ended }, topics.answers)
  const desk = createDesk(parts, { answer, writer, ended, fail: failed.reject })
  const reading = (async () => {
    for await (const { records } of readPartition(parts, topics.questions, 'end', ended)) {
      for (const { key, value } of records) {
        const question = value?.toString('utf8') ?? ''
        if (key !== null && question.length <= LONGEST_REQUEST) desk.take(String(key), question)
      }
    }
  })()
  try {
    await Promise.race([aborted(ended), failed.promise])
  } finally {
    over.abort()
    await reading
  }
}

/** Works on questions; the same one only once at a time. */
function createDesk(
  { clock, logger }: QuestionParts,
  work: { answer: RequestHandler; writer: PlainWriter; ended: AbortSignal; fail(error: unknown): void },
): { take(id: string, question: string): void } {
  const { writer, ended } = work
  const renewals = new Map<string, () => void>()

  const settle = async (id: string, question: string, signal: AbortSignal): Promise<void> => {
    let text: string
    try {
      text = await work.answer(question, signal)
      if (signal.aborted) return
      checkResponse(text)
    } catch (error) {
      if (!signal.aborted) work.fail(error)
      return
    }
    try {
      const records = textRecords(id, text, randomUUID())
      await Promise.all(records.map((record) => writer.write(record)))
    } catch (error) {
      // Whoever asked repeats the question.
      if (!ended.aborted) logger.warn('log.unavailable', { error })
    }
  }
  return {
    take(id, question) {
      const renew = renewals.get(id)
      if (renew !== undefined) return renew()
      if (renewals.size >= MOST_AT_ONCE) return
      const gone = new AbortController()
      const expire = (): void => gone.abort()
      let cancel = clock.after(LEASE_MS, expire)
      renewals.set(id, () => {
        cancel()
        cancel = clock.after(LEASE_MS, expire)
      })
      void settle(id, question, AbortSignal.any([gone.signal, ended])).finally(() => {
        cancel()
        renewals.delete(id)
      })
    },
  }
}
