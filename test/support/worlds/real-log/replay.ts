/**
 * Does to a real log what a simulated world did to its own, and compares: the state that each claim reads, the state after
 * each commit, the revisions that the poller looks up, in the end every event and rejected item. Where all are equal, the
 * poller would have done the same on the real log. Where the real log does not answer in time, the replay does what the
 * poller does: it claims again, reads what is stored, and repeats what is not. Writes of the state alone are merged
 * (`merging-writer.ts`), except before a claim, a death or a lost commit.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Committed } from '../../../../src/core/event.ts'
import { isBridgeError, isLogOutage } from '../../../../src/errors.ts'
import { NotYetReplicated } from '../../../../src/ingest/poller/not-yet-replicated.ts'
import { type PollerCommit, PollerWriter } from '../../../../src/ingest/writer-state/poller-writer.ts'
import type { WriterState } from '../../../../src/ingest/writer-state/rows.ts'
import { rejectedHash } from '../../../../src/log/events.ts'
import type { FaultHooks } from '../../../../src/log/fault-hooks.ts'
import { newestRejected } from '../../newest-rejected.ts'
import { MergingWriter } from './merging-writer.ts'
import type { LogOperation, RecordedWorld } from './operations.ts'
import type { RealLog } from './real-log.ts'

/** More rejected items than any world has. */
const ALL_REJECTED = 100_000
/** Outages of the real log in a row, without an operation that ended, after which the replay gives up. */
const MOST_OUTAGES = 5
/** After each, as the poller waits: a broker that has lost its controller for a moment needs seconds. */
const AFTER_OUTAGE_MS = 2_000

/** What a replay has found. */
export interface Replayed {
  /** The first difference as a sentence; null where there is none. */
  difference: string | null
  /** Operations that the real log did not answer in time, and the simulated one did. */
  outages: number
}

/**
 * Plays the world on that unused log.
 * @throws what the real log throws where the simulated one did not, except outages that end
 */
export async function replay(world: RecordedWorld, real: RealLog): Promise<Replayed> {
  const player = new Replay(world, real)
  const result = (difference: string | null): Replayed => ({ difference, outages: player.outages })
  for (const [index, operation] of world.operations.entries()) {
    const difference = await player.play(operation)
    if (difference !== null) return result(`operation ${index + 1}, ${operation.type}: ${difference}`)
  }
  const difference = await player.finish()
  return result(difference === null ? null : `at the end: ${difference}`)
}

/** Asks a writer for something. */
type Write<T = unknown> = (writer: PollerWriter) => Promise<T>

/** The progress of one replay. */
class Replay {
  readonly #world: RecordedWorld
  readonly #real: RealLog
  #writer: PollerWriter | null = null
  #merging: MergingWriter | null = null
  /** What the log holds, and the writes since. */
  #stored: WriterState | null = null
  #unstored: Write[] = []
  #notYetReplicated: NotYetReplicated
  /** A commit that was sent and has not ended. */
  #sent: PollerCommit | null = null
  #epoch: string | null = null
  #lost = 0
  outages = 0

  constructor(world: RecordedWorld, real: RealLog) {
    this.#world = world
    this.#real = real
    this.#notYetReplicated = new NotYetReplicated(real.archive)
  }

  /** Does the same to the real log; the difference or null. */
  async play(operation: LogOperation): Promise<string | null> {
    switch (operation.type) {
      case 'claimed':
        return (await this.#cutOff(false)) ?? (await this.#claim(operation.after, operation.rejected))
      case 'spent':
        await this.#surely((writer) => writer.spend(1, operation.purpose, operation.atMs))
        return null
      case 'looked-up':
        return differs('latest revisions', this.#notYetReplicated.latestOf(operation.guids), operation.found)
      case 'commit-sent':
        this.#sent = operation.commit
        return null
      case 'commit-ended':
        return this.#commit(operation)
      case 'died':
        return this.#die()
    }
  }

  /** A last process reads what is stored; the difference or null. */
  async finish(): Promise<string | null> {
    const { end, events, rejected } = this.#world
    const difference = (await this.#die()) ?? (await this.#claim(end, rejected.length))
    if (difference !== null) return difference
    const items = await newestRejected(this.#real.log, ALL_REJECTED)
    const stored = this.#real.archive.committed(0, events.length + 1)
    const expected = events.map((event) => ({ ...event, epoch: this.#epoch ?? '' }))
    return (
      differs('rejected items', items, rejected) ??
      differs('events', stored.map(storedFields), expected.map(storedFields))
    )
  }

  get #claimed(): PollerWriter {
    if (this.#writer === null) throw new Error('the world writes to its log without a claim')
    return this.#writer
  }

  async #claim(after: WriterState, rejected: number): Promise<string | null> {
    const { log } = this.#real
    const writer = await this.#newWriter()
    this.#holdsAllOf(writer)
    const { epoch, sequence } = writer.state.head
    const expected = this.#world.rejected.slice(0, rejected).map(({ raw }) => rejectedHash(raw))
    return (
      differs('epoch', epoch, this.#epoch) ??
      stateDiffers(writer.state, after) ??
      differs('hashes of rejected items', await log.rejectedHashes(ALL_REJECTED), expected) ??
      differs('last event', this.#real.archive.latest, sequence)
    )
  }

  /** Claims until the log answers. */
  async #newWriter(): Promise<PollerWriter> {
    const { signal } = new AbortController()
    for (let tries = 1; ; tries++) {
      try {
        const { log } = this.#real
        const merging = new MergingWriter(await log.claim(await log.campaign(signal), signal))
        const writer = new PollerWriter(merging)
        const { epoch, sequence } = writer.state.head
        this.#writer = writer
        this.#merging = merging
        this.#epoch ??= epoch
        this.#notYetReplicated = new NotYetReplicated(this.#real.archive)
        await this.#real.caughtUp(sequence, epoch)
        return writer
      } catch (error) {
        await this.#endure(error, tries)
      }
    }
  }

  /** Writes what the world wrote and got an answer to. */
  async #surely<T>(write: Write<T>): Promise<T | null> {
    this.#unstored.push(write)
    for (let tries = 1; ; tries++) {
      try {
        if (tries > 1) for (const earlier of this.#unstored.slice(0, -1)) await earlier(this.#claimed)
        const written = await write(this.#claimed)
        if (this.#merging?.written) this.#holdsAllOf(this.#claimed)
        return written
      } catch (error) {
        await this.#endure(error, tries)
        const writer = await this.#newWriter()
        if (this.#stored === null || stateDiffers(writer.state, this.#stored) === null) continue
        this.#holdsAllOf(writer)
        return null
      }
    }
  }

  /** Writes the state that waits to be merged. */
  async #flush(): Promise<void> {
    if (this.#unstored.length > 0) await this.#surely(async () => this.#merging?.flush())
  }

  #holdsAllOf({ state }: PollerWriter): void {
    this.#stored = state
    this.#unstored = []
  }

  /** @throws the error, where it is not an outage or the log has been away for too long */
  async #endure(error: unknown, tries: number): Promise<void> {
    if (!isLogOutage(error) || tries === MOST_OUTAGES) throw error
    this.outages += 1
    await sleep(AFTER_OUTAGE_MS)
  }

  async #commit({
    stored,
    answered,
    after,
  }: Extract<LogOperation, { type: 'commit-ended' }>): Promise<string | null> {
    const commit = this.#sent
    if (commit === null) throw new Error('a commit of the world ended that was never sent')
    if (!answered) return stored ? this.#loseIn('afterCommit', () => {}) : this.#cutOff(false)
    this.#sent = null
    const committed = await this.#surely((writer) => writer.commit(commit))
    this.#notYetReplicated.remember(committed ?? [])
    return stateDiffers(this.#claimed.state, after)
  }

  /** The process ends, perhaps in the middle of a commit, and the next one starts. */
  async #die(): Promise<string | null> {
    const difference = await this.#cutOff(true)
    this.#writer = null
    await this.#real.restart()
    return difference
  }

  /** Sends the commit that is to be lost, if there is one, and breaks it off before it is stored. */
  async #cutOff(dies: boolean): Promise<string | null> {
    await this.#flush()
    if (this.#sent === null) return null
    const { losing } = this.#real
    const place = losing[this.#lost++ % losing.length] ?? 'beforeCommit'
    return this.#loseIn(place, () => {
      if (dies) this.#real.freeze()
    })
  }

  async #loseIn(
    place: 'afterSend' | 'beforeCommit' | 'afterCommit',
    atThatMoment: () => void,
  ): Promise<string | null> {
    const commit = this.#sent
    this.#sent = null
    if (commit === null || this.#merging === null) throw new Error('no commit is to be lost')
    await this.#flush()
    this.#merging.merges = false
    const hooks: FaultHooks = this.#real.faultHooks
    const { [place]: ofTheLog } = hooks
    hooks[place] = () => {
      atThatMoment()
      throw new Error('the answer is lost')
    }
    const ending = await this.#claimed.commit(commit).then(
      () => null,
      (error: unknown) => error,
    )
    if (ofTheLog === undefined) delete hooks[place]
    else hooks[place] = ofTheLog
    if (isBridgeError(ending, 'log_unknown')) return null
    return `a commit without an answer ended with ${String(ending)} instead of log_unknown`
  }
}

/** What the poller gave the log of an event: `item` is only a parsed form of `data`, and time and topics come from the log. */
function storedFields({ item: _item, committedMs, topics, ...stored }: Partial<Committed>): object {
  return stored
}

/** The first field that differs. The simulated log has an epoch of its own. */
function stateDiffers(real: WriterState, simulated: WriterState): string | null {
  const fields = Object.keys({ ...simulated.head, ...real.head }) as (keyof WriterState['head'])[]
  const inHead = fields
    .filter((field) => field !== 'epoch')
    .map((field) => differs(`head.${field}`, real.head[field], simulated.head[field]))
    .find((difference) => difference !== null)
  return inHead ?? differs('ledger', real.ledger, simulated.ledger)
}

function differs(what: string, real: unknown, simulated: unknown): string | null {
  if (isDeepStrictEqual(real, simulated)) return null
  const [one, other] = firstDifference(real, simulated)
  return `${what}: ${shown(one)} on the real log, ${shown(other)} on the simulated one`
}

/** The first member that differs, of lists and maps. */
function firstDifference(real: unknown, simulated: unknown): [unknown, unknown] {
  const [one, other] = [membersOf(real), membersOf(simulated)]
  if (one === null || other === null) return [real, simulated]
  const index = one.findIndex((member, place) => !isDeepStrictEqual(member, other[place]))
  const place = index < 0 ? one.length : index
  return [one[place], other[place]]
}

function membersOf(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return value
  if (!(value instanceof Map)) return null
  return [...value].sort(([one], [other]) => (String(one) < String(other) ? -1 : 1))
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 300)
}
