/**
 * From a term to a writer: fence, then read. Owns the order of those steps, which makes what is read the truth: once the
 * transactional id is taken no earlier writer can commit, and what it did commit lies before the nonce. Refuses to guess.
 */
import { randomUUID } from 'node:crypto'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { newEpoch } from '../epoch.ts'
import { fencedError } from '../local-writer.ts'
import type { Writer } from '../log.ts'
import type { Seam } from '../seam.ts'
import { unusedState } from '../state.ts'
import { type Books, bookRows, booksOf, NONCE_KEY } from './books.ts'
import type { OpenSession } from './client.ts'
import { within } from './deadline.ts'
import { isFencing, unavailable } from './faults.ts'
import { latestSequence } from './find.ts'
import { shortRead } from './short-read.ts'
import type { StateTail } from './state-tail.ts'
import { ALL, STATE, topicName } from './topics.ts'
import { openTransactions, type Transactions } from './transactions.ts'
import { createKafkaWriter, type WriterParts } from './writer.ts'

/** How long a claim waits for its own nonce, ms; usually some ms. */
const NONCE_DEADLINE_MS = 10_000

/** What a claim needs. */
export interface ClaimParts extends Omit<WriterParts, 'transactions' | 'nonce'> {
  openSession: OpenSession
  clock: Clock
  seam: Seam
  tail: StateTail
}

/**
 * Claims the log.
 * @throws the signal's reason; BridgeError `log_fenced` when somebody claims at the same time, `log_unavailable`,
 * `log_damaged` when state and events contradict each other
 */
export async function claimLog(parts: ClaimParts, signal: AbortSignal): Promise<Writer> {
  const { prefix, clock, openSession, seam, closed } = parts
  const transactions = openTransactions({ openSession, transactionalId: `${prefix}.writer`, clock, seam })
  const stopped = AbortSignal.any([signal, closed])
  try {
    await transactions.fence(stopped)
    await seam.afterFence?.()
    const nonce = randomUUID()
    const read = parts.tail.reached(nonce)
    await writeState(transactions, prefix, new Map([[NONCE_KEY, nonce]]))
    await seam.afterNonce?.()
    const rows = await within(clock, NONCE_DEADLINE_MS, stopped, read)
    const last = await shortRead(parts, 'reading the last event', stopped, (partitions) =>
      latestSequence(partitions, topicName(prefix, ALL)),
    )
    const books = standingBooks(booksOf(rows), last)
    const claimed = books ?? (await begin(transactions, prefix))
    stopped.throwIfAborted()
    return createKafkaWriter({ ...parts, transactions, nonce }, claimed)
  } catch (error) {
    transactions.end()
    if (signal.aborted) throw signal.reason
    if (closed.aborted || isFencing(error)) throw fencedError()
    throw unavailable('claiming', error)
  }
}

/** The books, if they agree with the last event that is kept (null: all were dropped); null for an unused log. */
function standingBooks(books: Books | null, last: number | null): Books | null {
  if (books === null && last === 0) return null
  if (books === null || (last !== null && books.state.head.sequence !== last)) {
    const known = books === null ? 'nothing' : `event ${books.state.head.sequence}`
    const kept = last === null ? 'was written before' : `ends with ${last}`
    throw new BridgeError('log_damaged', `the state knows ${known}, the topic of all events ${kept}`, {
      hint: 'Stop. Restore the state topic and the topic of all events from one backup, or choose another BRIDGE_TOPIC_PREFIX.',
    })
  }
  return books
}

async function begin(transactions: Transactions, prefix: string): Promise<Books> {
  const books: Books = { state: unusedState(newEpoch()), counts: new Map(), choices: new Map() }
  await writeState(transactions, prefix, bookRows(books))
  return books
}

function writeState(
  transactions: Transactions,
  prefix: string,
  rows: ReadonlyMap<string, string>,
): Promise<void> {
  const records = [...rows].map(([key, value]) => ({ partition: 0 as const, key, value }))
  return transactions.run(new Map([[topicName(prefix, STATE), records]]))
}
