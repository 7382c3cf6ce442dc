/**
 * Plays one endpoint against a random receiver, with settings that change, crashes and replays, and checks each request
 * that its state machine starts. Then the receiver accepts everything, and all that was offered must come to its end.
 */
import type { AttemptEnd } from '../../../src/core/attempt-end.ts'
import { type SeededChance, seededChance } from '../../../src/core/chance.ts'
import { decodeCursor } from '../../../src/core/cursor.ts'
import type { DeliveryRow, RetryRow } from '../../../src/webhooks/delivery-state/delivery-rows.ts'
import type { ReplayStart } from '../../../src/webhooks/delivery-state/endpoint-cursors.ts'
import { EndpointMachine } from '../../../src/webhooks/delivery-state/endpoint-machine.ts'
import type { Batch, Loaded, MachineConfig } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import { BROKEN, cursorAt, event, GONE, OK, PLAIN, UNCONNECTED } from './endpoint-machines.ts'

const EVENTS = 120
const RANDOM_STEPS = 600
/** Far more than the calm end ever needs. */
const MOST_STEPS = RANDOM_STEPS + 6000
const TOO_LARGE: AttemptEnd = { kind: 'answered', status: 413, retryAfter: null }
const THROTTLED: AttemptEnd = { kind: 'answered', status: 429, retryAfter: '7' }
/** Failures that say nothing of the endpoint as a whole are more frequent. */
const FAILURES = [BROKEN, BROKEN, BROKEN, TOO_LARGE, THROTTLED, UNCONNECTED, UNCONNECTED, GONE]

const matches = (sequence: number): boolean => sequence % 11 !== 0
const issuerOf = (sequence: number): string => `issuer ${(sequence * 7919) % 5}`

/** One simulation. */
class EndpointSimulation {
  readonly #chance: SeededChance
  readonly #rows = new Map<string, DeliveryRow>()
  readonly #finished = new Set<number>()
  /** Before these moments the events may not be sent again. */
  readonly #dueMs = new Map<number, number>()
  #inFlight: number[][] = []
  #batch: Batch | null = null
  #config: MachineConfig
  #machine: EndpointMachine
  #nowMs = 1_000_000
  #isCalm = false
  /** Requests in flight may break rules that were set after they left. */
  #hasSteadySlots = true
  #hasSteadyOrder = true

  constructor(seed: number) {
    this.#chance = seededChance(seed)
    const order = this.#chance.pick(['none', 'issuer'] as const)
    this.#config = {
      ...PLAIN,
      order,
      rateLimit: this.#chance.yes(0.3) ? 5 : null,
      maxBatch: this.#anyBatch(),
    }
    this.#machine = this.#load()
  }

  /** Throws an Error with what is wrong. */
  play(): void {
    for (let step = 0; step < MOST_STEPS; step++) {
      if (step === RANDOM_STEPS) this.#calmDown()
      if (this.#isCalm && this.#isOver()) break
      if (!this.#isCalm) this.#disturb(step)
      if (this.#machine.disableReason !== null && this.#chance.yes(0.3)) this.#enable()
      this.#read()
      if (this.#isCalm || this.#chance.yes(0.7)) this.#write()
      this.#sendAll()
      if (this.#isCalm || this.#chance.yes(0.6)) this.#endOne()
      this.#pass()
    }
    if (!this.#isOver()) throw new Error(`stuck: ${JSON.stringify(this.#machine.figures())}`)
    for (let sequence = 1; sequence <= EVENTS; sequence++) {
      if (matches(sequence) && !this.#finished.has(sequence)) throw new Error(`event ${sequence} was lost`)
    }
  }

  #isOver(): boolean {
    const { cursors } = this.#machine
    const isRead = cursors.live.progress.readTo >= EVENTS && cursors.replayIds().length === 0
    const isWritten = this.#batch === null && !this.#machine.hasPendingRows()
    return isRead && isWritten && this.#inFlight.length === 0 && this.#machine.figures().pending === 0
  }

  #calmDown(): void {
    this.#isCalm = true
    this.#configure({ isActive: true, target: 'calm', rateLimit: null })
    this.#dueMs.clear()
  }

  #disturb(step: number): void {
    const chance = this.#chance
    if (chance.yes(0.02)) this.#configure({ maxBatch: this.#anyBatch() })
    if (chance.yes(0.01)) {
      this.#hasSteadySlots = false
      this.#configure({ maxConcurrency: chance.pick([1, 2, 4]) })
    }
    if (chance.yes(0.005)) {
      this.#hasSteadyOrder = false
      this.#configure({ order: chance.pick(['none', 'issuer'] as const) })
    }
    if (chance.yes(0.01)) this.#configure({ target: `target ${step}` })
    if (chance.yes(0.01)) this.#configure({ isActive: false })
    if (!this.#config.isActive && chance.yes(0.2)) this.#enable()
    if (chance.yes(0.02)) {
      this.#machine.hasten(null, this.#nowMs)
      this.#dueMs.clear()
    }
    if (chance.yes(0.01)) this.#replay(step)
    if (chance.yes(0.01)) this.#crash()
  }

  #anyBatch(): number | null {
    return this.#chance.pick([null, 2, 3, 5])
  }

  #configure(change: Partial<MachineConfig>): void {
    this.#config = { ...this.#config, ...change }
    this.#machine.configure(this.#config)
  }

  #enable(): void {
    this.#configure({ isActive: false })
    this.#configure({ isActive: true })
    this.#dueMs.clear()
  }

  #replay(step: number): void {
    const until = this.#machine.cursors.live.progress.readTo
    if (until < 3 || this.#machine.cursors.replayIds().length > 0) return
    const base = this.#chance.between(0, until - 2)
    const only = this.#chance.pick([null, 'dead', [base + 1, base + 2].filter(matches)] as const)
    const start = { id: `r${step}`, base, ahead: [], until, only, createdAtMs: 0, isWritten: false }
    this.#machine.cursors.addReplay(start)
  }

  /** Another process goes on from the rows. */
  #crash(): void {
    this.#inFlight = []
    this.#batch = null
    this.#hasSteadySlots = false
    this.#machine = this.#load()
    this.#dueMs.clear()
    for (const [key, row] of this.#rows) if (row.kind === 'retry') this.#dueMs.set(sequenceOf(key), row.dueMs)
  }

  #load(): EndpointMachine {
    const machine = new EndpointMachine('ep_1', loadedFrom(this.#rows), this.#config)
    machine.configure(this.#config)
    return machine
  }

  #read(): void {
    const machine = this.#machine
    const { progress } = machine.cursors.live
    for (let room = machine.room(); room > 0 && progress.readTo < EVENTS; room--) {
      const next = progress.readTo + 1
      if (matches(next)) machine.offer(event(next, issuerOf(next)), this.#nowMs)
      else machine.passedTo(next)
    }
    const { replay } = machine.cursors
    const end = Math.min(replay?.until ?? 0, progress.readTo)
    for (
      let room = machine.replayRoom();
      room > 0 && replay !== null && replay.progress.readTo < end;
      room--
    ) {
      const next = replay.progress.readTo + 1
      const isWanted = matches(next) && (replay.only?.includes(next) ?? true)
      if (isWanted) machine.offerReplayed(event(next, issuerOf(next)))
      replay.progress.passedTo(next)
    }
  }

  /** What was taken before is durable, and the next rows are taken. */
  #write(): void {
    for (const { key, value } of this.#batch?.changes ?? []) {
      if (value === null) this.#rows.delete(key)
      else this.#rows.set(key, value)
    }
    this.#batch?.settled()
    this.#batch = this.#machine.take(cursorAt, this.#chance.yes(0.1))
  }

  #sendAll(): void {
    for (
      let start = this.#machine.next(this.#nowMs);
      start !== null;
      start = this.#machine.next(this.#nowMs)
    ) {
      const sent = [start.delivery, ...(start.others ?? [])].map(({ sequence }) => sequence)
      this.#check(sent)
      this.#inFlight.push(sent)
    }
  }

  #check(sent: readonly number[]): void {
    const { maxBatch, maxConcurrency, order } = this.#config
    const refuse = (what: string): never => {
      throw new Error(`${what}: ${sent} beside ${JSON.stringify(this.#inFlight)}`)
    }
    if (sent.length > (maxBatch ?? 1)) refuse('a batch is too large')
    if (sent.some((sequence, at) => at > 0 && sequence <= (sent[at - 1] ?? 0))) refuse('a batch has no order')
    if (this.#hasSteadySlots && this.#inFlight.length >= maxConcurrency) refuse('too many requests')
    const others = this.#inFlight.flat()
    if (sent.some((sequence) => others.includes(sequence))) refuse('an event is in flight twice')
    const issuers = order === 'issuer' && this.#hasSteadyOrder ? others.map(issuerOf) : []
    if (sent.some((sequence) => issuers.includes(issuerOf(sequence)))) refuse('an issuer has two requests')
    if (sent.some((sequence) => (this.#dueMs.get(sequence) ?? 0) > this.#nowMs))
      refuse('an event is too early')
  }

  #endOne(): void {
    const chance = this.#chance
    const [sent = []] = this.#inFlight.splice(chance.between(0, Math.max(0, this.#inFlight.length - 1)), 1)
    const [first] = sent
    if (first === undefined) return
    if (!this.#isCalm && chance.yes(0.05)) return this.#machine.sentOnly(first, 0, this.#nowMs, 1000)
    if (!this.#isCalm && chance.yes(0.03)) {
      const gone = sent.filter(() => chance.yes(0.5))
      for (const sequence of gone) this.#finished.add(sequence)
      return this.#machine.dropped(first, gone, this.#nowMs)
    }
    const count = !this.#isCalm && chance.yes(0.1) ? chance.between(1, sent.length) : sent.length
    this.#machine.sentOnly(first, count, this.#nowMs)
    this.#end(first, sent.slice(0, count))
  }

  #end(first: number, sent: readonly number[]): void {
    const end = this.#isCalm || this.#chance.yes(0.5) ? OK : this.#chance.pick(FAILURES)
    const context = { nowMs: this.#nowMs, chance: 0.5, isSent: true }
    const verdict = this.#machine.ended(first, end, context)
    if (verdict === null) throw new Error(`the machine does not know ${first}`)
    for (const sequence of sent) {
      this.#dueMs.delete(sequence)
      if (verdict.next === 'delivered' || verdict.next === 'dead') this.#finished.add(sequence)
      if (verdict.next === 'retry') this.#dueMs.set(sequence, this.#nowMs + verdict.delayMs)
    }
  }

  /** Time passes: some seconds, or up to the moment for which the machine waits. */
  #pass(): void {
    if (!this.#isCalm && this.#chance.yes(0.7)) return
    const wakeAtMs = this.#inFlight.length === 0 ? (this.#machine.wakeAtMs() ?? 0) : 0
    this.#nowMs = Math.max(this.#nowMs + this.#chance.between(0, 3000), wakeAtMs)
  }
}

/** Plays the simulation of that seed. Throws an Error with what is wrong. */
export function simulateEndpoint(seed: number): void {
  new EndpointSimulation(seed).play()
}

function sequenceOf(key: string): number {
  return Number(key.split('/')[2])
}

function loadedFrom(rows: ReadonlyMap<string, DeliveryRow>): Loaded {
  const retries = new Map<number, RetryRow>()
  const dead: number[] = []
  const replays: ReplayStart[] = []
  let position: Pick<Loaded, 'base' | 'ahead' | 'isWritten' | 'failingSinceMs'> = {
    ...{ base: 0, ahead: [], isWritten: false, failingSinceMs: null },
  }
  for (const [key, row] of rows) {
    if (row.kind === 'retry') retries.set(sequenceOf(key), row)
    else if (row.kind === 'dead') dead.push(sequenceOf(key))
    else {
      const { cursor, ...rest } = row
      const found = { ...rest, base: decodeCursor(cursor).sequence, isWritten: true }
      if (found.kind === 'position') position = found
      else replays.push({ ...found, id: key.split('/')[2] ?? '' })
    }
  }
  return { ...position, retries, dead: dead.sort((one, other) => one - other), replays }
}
