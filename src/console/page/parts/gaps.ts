/** Gathers gaps from the open ones of the status and from gap events, and says why they came about and what became of them. */
import type { DisclosureEvent, GapEvent } from '../../../../clients/typescript/src/messages.ts'
import type { OpenGapAnswer } from '../shell/answers.ts'
import type { DayAnswer } from './reading-answers.ts'

/** A gap and what became of it. */
export interface KnownGap extends OpenGapAnswer {
  state: 'open' | 'filled' | 'given_up'
}

const GAP_STATES: Readonly<Record<string, KnownGap['state']>> = {
  'bridge.gap.opened.v1': 'open',
  'bridge.gap.filled.v1': 'filled',
  'bridge.gap.given_up.v1': 'given_up',
}

/** Whether the event tells of a gap. */
export function isGapEvent(event: DisclosureEvent | GapEvent): event is GapEvent {
  return event.type.startsWith('bridge.gap.')
}

/**
 * Each gap of the events in its last state. Events come in their order; `open` are those of the status, null where it is not
 * known.
 */
export function knownGaps(
  events: readonly Pick<GapEvent, 'type' | 'data'>[],
  open: readonly OpenGapAnswer[] | null,
): KnownGap[] {
  const known = new Map<string, KnownGap>()
  for (const { type, data } of events) {
    const state = GAP_STATES[type]
    if (state !== undefined) known.set(data.id, { ...data, state })
  }
  // The count of a gap that is still being filled is newer in the status.
  for (const gap of open ?? [])
    if (known.get(gap.id)?.closedAt == null) known.set(gap.id, { ...gap, state: 'open' })
  return [...known.values()]
}

/** The known gaps that overlap the stretch, the earliest first. */
export function gapsOver(
  stretch: { fromMs: number; toMs: number },
  events: readonly Pick<GapEvent, 'type' | 'data'>[],
  open: readonly OpenGapAnswer[] | null,
): KnownGap[] {
  return knownGaps(events, open)
    .filter(({ from, to }) => Date.parse(from) < stretch.toMs && Date.parse(to) >= stretch.fromMs)
    .sort((one, other) => Date.parse(one.from) - Date.parse(other.from))
}

/**
 * The report of a day with the gaps that are open now: the leader writes reports once a minute. `open`: those of the status;
 * `dateOf` tells the London date of a time.
 */
export function withOpenGaps(
  day: DayAnswer,
  open: readonly OpenGapAnswer[] | null,
  dateOf: (iso: string) => string,
): DayAnswer {
  // A node that does not lead knows of so many at most.
  if (open === null || open.length >= MOST_REPORTED_GAPS) return day
  const here = open.filter(({ from, to }) => dateOf(from) <= day.date && dateOf(to) >= day.date)
  return { ...day, gapsLeft: here.length }
}

const MOST_REPORTED_GAPS = 1000

const causes: Readonly<Record<string, string>> = {
  overflow: 'more arrived at once than a poll returns',
  cursor_refused: 'the upstream refused to go on where polling had stopped',
  outage: 'nobody polled',
  epoch: 'the log was created anew or restored',
  retention: 'what was missed is no longer kept',
}

/** Why a gap came about, in words; a cause that this page does not know stays as it is. */
export function causeWords(cause: string): string {
  return causes[cause] ?? cause
}

/** What became of a gap, in words, e.g. `filled, 41 found`. */
export function gapStateWords({ state, found }: KnownGap): string {
  if (state === 'open')
    return found === 0 ? 'open: items may be missing' : `open: ${found} found so far, more may be missing`
  if (state === 'filled') return found === 0 ? 'filled: nothing was missing' : `filled, ${found} found`
  return found === 0
    ? 'given up: items may be missing for good'
    : `given up, ${found} found: more may be missing for good`
}
