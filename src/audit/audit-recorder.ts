/**
 * Records changes in the audit journal: an action that changes the log before and after it is made, any other one after it.
 * What cannot be written at once is kept in memory and tried again.
 */
import type { IncomingMessage } from 'node:http'
import { type Backoff, backoffMs } from '../core/backoff.ts'
import { BridgeError, isBridgeError } from '../errors.ts'
import { type AuditOutcome, auditActions } from '../http/audit/audit-actions.ts'
import type { Audit, AuditedChange } from '../http/audit/changes.ts'
import { addressText, type ClientAddress } from '../http/bounds/remote-address.ts'
import { HttpProblem, retryLater } from '../http/problem.ts'
import { aborted } from '../lifecycle/aborted.ts'
import { type Chance, type Clock, sleep, within } from '../lifecycle/clock.ts'
import { createWakeup } from '../lifecycle/wakeup.ts'
import type { Journal } from '../log/journal.ts'
import type { Logger } from '../obs/logger.ts'
import { newId } from '../registry/ids.ts'
import { type AuditEntry, boundedText, recordedChange } from './audit-rows.ts'

/** Entries that may wait for the journal: at most some megabytes. The oldest beyond are lost, which the log says. */
const MOST_WAITING = 1000
/** Entries that are appended together. */
const AT_ONCE = 100
/** Between two tries to write what waits. */
const RETRY: Backoff = { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0.2 }
/** What is kept of the header `X-Request-Id`. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/
/** How long a stopping process waits for entries to be written. */
const STOP_MS = 3000

/** What the recorder works with. */
export interface AuditRecorderParts {
  journal: Pick<Journal<AuditEntry>, 'append'>
  /** Gives the name of a token. */
  tokens: { get(id: string): { name: string | null } | null }
  addressOf: (request: IncomingMessage) => ClientAddress | null
  clock: Clock
  chance: Chance
  logger: Logger
}

/** The recorder of a process. */
export class AuditRecorder implements Audit {
  readonly #parts: AuditRecorderParts
  readonly #waiting: AuditEntry[] = []
  /** Entries that are being appended: older than those that wait. */
  #appended: AuditEntry[] = []
  /** The append that is under way. */
  #writing: Promise<boolean> | null = null
  readonly #added = createWakeup()
  /** Tries to write what waits that failed in a row. */
  #failures = 0

  constructor(parts: AuditRecorderParts) {
    this.#parts = parts
  }

  /** Entries that the journal does not have yet. */
  get waiting(): number {
    return this.#appended.length + this.#waiting.length
  }

  readonly record: Audit['record'] = async (asked, change, make) => {
    const entry = this.#entryOf(asked, change)
    const told: AuditedChange = { ...change }
    const end = (outcome: AuditOutcome, code: string | null): void => {
      const { target, tenant, before = {}, after = {} } = told
      // A change that was not made has no members that changed.
      const members = outcome === 'failed' ? { before: {}, after: {} } : recordedChange(before, after)
      this.#add({ ...entry, ...members, target, tenant, outcome, code })
    }
    if (auditActions[asked.action] === 'stored') {
      try {
        await this.#parts.journal.append([entry])
      } catch (error) {
        if (!isBridgeError(error, 'log_unavailable')) throw error
        // It may have been written all the same.
        end('failed', error.code)
        throw retryLater(
          'unavailable',
          'nothing was changed: the audit journal cannot record it at the moment',
        )
      }
    }
    try {
      const result = await make((more) => void Object.assign(told, more))
      end('done', null)
      return result
    } catch (error) {
      end(...endOf(error))
      throw error
    }
  }

  /**
   * Writes entries until the signal aborts; `close` waits for an append that is under way then. Rejects only with a fault of
   * the program.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, chance } = this.#parts
    const stopped = aborted(signal).then(() => true)
    while (!signal.aborted) {
      if (this.#waiting.length === 0) await this.#added.wait(signal)
      else if (!(await Promise.race([this.#write(), stopped]))) {
        await sleep(clock, backoffMs(this.#failures, RETRY, chance), signal)
      }
    }
  }

  /** Writes what waits still, for some seconds; the log names what could not be written. */
  async close(): Promise<void> {
    const ended = new AbortController().signal
    const writeAll = async (): Promise<void> => {
      while (this.waiting > 0 && (await this.#write()));
    }
    await within(this.#parts.clock, STOP_MS, ended, writeAll)
    this.#lose([...this.#appended.splice(0), ...this.#waiting.splice(0)])
  }

  #entryOf({ action, author, request }: Parameters<Audit['record']>[0], change: AuditedChange): AuditEntry {
    const { tokens, addressOf, clock } = this.#parts
    const { tokenId, tenant, session, seesAllTenants } = author
    const name = tokens.get(tokenId)?.name ?? null
    const atMs = clock.now()
    return {
      id: newId('aud', atMs),
      atMs,
      action,
      outcome: 'unknown',
      code: null,
      actor: {
        tokenId,
        name: name === null ? null : boundedText(name),
        tenant,
        sessionId: session?.id ?? null,
      },
      isOperator: seesAllTenants,
      address: addressText(addressOf(request)?.key ?? ''),
      requestId: requestIdOf(request),
      target: change.target,
      tenant: change.tenant,
      ...recordedChange(change.before ?? {}, change.after ?? {}),
    }
  }

  #add(entry: AuditEntry): void {
    this.#waiting.push(entry)
    this.#loseBeyondBound()
    this.#added.wake()
  }

  /** Writes the oldest entries, one append at a time. False where the journal cannot be written to. */
  #write(): Promise<boolean> {
    this.#writing ??= this.#append().finally(() => {
      this.#writing = null
    })
    return this.#writing
  }

  async #append(): Promise<boolean> {
    const { journal, logger } = this.#parts
    this.#appended = this.#waiting.splice(0, AT_ONCE)
    try {
      await journal.append([...this.#appended])
    } catch (error) {
      this.#waiting.unshift(...this.#appended.splice(0))
      this.#loseBeyondBound()
      if (!isBridgeError(error, 'log_unavailable')) throw error
      this.#failures += 1
      if (this.#failures === 1) logger.warn('audit.delayed', { count: this.waiting, error })
      return false
    }
    if (this.#failures > 0) logger.info('audit.recovered', { count: this.waiting })
    this.#failures = 0
    this.#appended = []
    return true
  }

  #loseBeyondBound(): void {
    this.#lose(this.#waiting.splice(0, Math.max(0, this.#waiting.length - MOST_WAITING)))
  }

  #lose(entries: readonly AuditEntry[]): void {
    for (const { action, target, tenant, actor, outcome } of entries) {
      this.#parts.logger.error('audit.lost', { action, target, tenant, outcome, by: actor.tokenId })
    }
  }
}

/** How an action that threw ended. What the log may or may not have is not known to have failed. */
function endOf(error: unknown): [AuditOutcome, string] {
  if (isBridgeError(error, 'log_unavailable')) return ['unknown', error.code]
  const isKnown = error instanceof HttpProblem || error instanceof BridgeError
  return ['failed', isKnown ? error.code : 'internal']
}

/** The id that the client, or a proxy before the bridge, has given the request; null where it is none that can be shown. */
function requestIdOf({ headers }: IncomingMessage): string | null {
  const id = headers['x-request-id']
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : null
}
