/** Says what became of an event at an endpoint: delivered, waiting, given up, or why not. */
import { counted, list } from '../../parts/elapsed.ts'
import type { EventDelivery } from '../../parts/reading-answers.ts'

/** What became of it, and how good that is. */
export interface DeliveryWords {
  tone: 'good' | 'notice' | 'bad' | 'idle'
  /** One or two words. */
  state: string
  /** The whole sentence; empty where the state says all. */
  line: string
}

/** Reasons for which the event is not for the endpoint. */
const NOT_FOR_IT = ['filter', 'type', 'before_start', 'other_epoch']

/** What became of the event at the endpoint. `momentOf` puts a time into words. */
export function deliveryWords(delivery: EventDelivery, momentOf: (iso: string) => string): DeliveryWords {
  const { state, attempts, nextAttempt, why } = delivery
  const tried = counted(attempts, 'attempt')
  const answer = answerWords(delivery)
  if (state === 'delivered') return { tone: 'good', state: 'delivered', line: `After ${tried}${answer}.` }
  if (state === 'dead')
    return { tone: 'bad', state: 'given up', line: `After ${tried}${answer}. A replay sends it again.` }
  if (why !== null && NOT_FOR_IT.includes(why.reason))
    return { tone: 'idle', state: 'not for it', line: whySentence(why) }
  if (state === 'pending') {
    const soFar = attempts === 0 ? '' : `${tried} so far${answer}. `
    const next = nextAttempt === null ? '' : `The next is due ${momentOf(nextAttempt)}. `
    const reason = why === null ? '' : whySentence(why)
    return { tone: 'notice', state: 'waits', line: `${soFar}${next}${reason}`.trim() }
  }
  return { tone: 'idle', state: 'not known', line: why === null ? '' : whySentence(why) }
}

function answerWords({ lastStatus, attempts }: EventDelivery): string {
  if (attempts === 0) return ''
  return lastStatus === null ? '; the last had no answer' : `; the last answer was ${lastStatus}`
}

function whySentence({ reason, detail, members }: NonNullable<EventDelivery['why']>): string {
  if (reason === 'filter' && members.length > 0)
    return `Its filter leaves the event out, by ${list(members)}.`
  const sentence = detail.endsWith('.') ? detail : `${detail}.`
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`
}

const OUTCOMES: Readonly<Record<string, string>> = { ok: 'accepted' }

/** How an attempt ended: its status, else its outcome with blanks for underscores. */
export function attemptWords({ status, outcome }: { status: number | null; outcome: string }): string {
  const words = OUTCOMES[outcome] ?? outcome.replaceAll('_', ' ')
  return status === null ? words : `${status}, ${words}`
}

/** How far open streams have come with an event. `sequences`: where each subscription stands; null where it is not known. */
export function streamWords(sequences: readonly (number | null)[], sequence: number): string {
  if (sequences.length === 0) return 'No stream is open on this node now.'
  const passed = sequences.filter((at) => at !== null && at >= sequence).length
  const behind = sequences.filter((at) => at !== null && at < sequence).length
  const unknown = sequences.length - passed - behind
  const parts = [
    ...(passed > 0 ? [`${passed} ${passed === 1 ? 'has' : 'have'} read past it`] : []),
    ...(behind > 0 ? [`${behind} ${behind === 1 ? 'has' : 'have'} not come to it yet`] : []),
    ...(unknown > 0 ? [`of ${unknown} it is not known`] : []),
  ]
  return `${counted(sequences.length, 'subscription')} open on this node now: ${list(parts)}.`
}
