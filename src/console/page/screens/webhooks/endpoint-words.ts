/** Says how a webhook endpoint stands, and how attempts to deliver to it ended. Pure. */
import { counted } from '../../parts/elapsed.ts'
import type { AttemptAnswer, EndpointAnswer } from '../../parts/managing-answers.ts'
import type { StateTone } from '../../parts/state.ts'
import { briefly, millisOf } from '../../parts/times.ts'

/** A state, and how good it is. */
export interface StateWords {
  tone: StateTone
  text: string
}

/** Events that wait longer than this are late. */
const LATE_MS = 60_000

const disabledBecause: Readonly<Record<string, string>> = {
  requested: 'disabled by request',
  gone: 'disabled: it answered 410',
  failing: 'disabled: it failed for five days',
}

/** How the endpoint stands, in a few words. */
export function endpointState({ status, disabledReason, health }: EndpointAnswer, nowMs: number): StateWords {
  if (status === 'disabled') {
    const text = disabledBecause[disabledReason ?? ''] ?? 'disabled'
    return { tone: disabledReason === 'requested' ? 'idle' : 'bad', text }
  }
  if (status === 'paused') return { tone: 'idle', text: 'paused' }
  const failingMs = millisOf(health.failingSince)
  if (failingMs !== null) return { tone: 'bad', text: `failing for ${briefly(nowMs - failingMs)}` }
  const oldestMs = millisOf(health.oldestPending)
  if (oldestMs !== null && nowMs - oldestMs > LATE_MS)
    return { tone: 'notice', text: `late by ${briefly(nowMs - oldestMs)}` }
  if (health.pending === null) return { tone: 'idle', text: 'not known to this node' }
  if (health.lastSuccess === null) return { tone: 'idle', text: 'nothing delivered yet' }
  return { tone: 'good', text: 'delivers' }
}

/** What waits, e.g. `12, the oldest for 4 min`. */
export function pendingWords({ pending, oldestPending }: EndpointAnswer['health'], nowMs: number): string {
  if (pending === null) return '–'
  const oldestMs = millisOf(oldestPending)
  const count = pending.toLocaleString('en-GB')
  return oldestMs === null ? count : `${count}, the oldest for ${briefly(nowMs - oldestMs)}`
}

/** How an attempt ended. */
export const outcomeWords: Readonly<Record<string, string>> = {
  ok: 'accepted',
  client_error: 'refused',
  gone: 'gone',
  throttled: 'too many',
  server_error: 'receiver failed',
  timeout: 'no answer in time',
  dns: 'name not found',
  connect: 'no connection',
  tls: 'TLS failed',
  blocked: 'address not allowed',
}

/** Sentences on what to do about it. */
const advice: Readonly<Record<string, string>> = {
  client_error:
    'The receiver refuses this request; it is tried again all the same. Redirects are never followed.',
  gone: '410 tells the bridge to stop: it disables the endpoint, except after a test.',
  throttled: 'The receiver asks for less; the bridge waits as long as Retry-After says.',
  server_error: 'The receiver failed, or its answer was no HTTP. Its own log says more.',
  timeout: 'An attempt has 15 seconds in all. Store the event, answer, and work on it afterwards.',
  dns: 'The name was not found, or leads to an address that webhooks may not reach.',
  connect: 'Nobody listens there, or a firewall is between.',
  tls: 'The certificate is not valid for the name, has expired, or TLS could not be agreed on.',
  blocked: 'The URL or address is not allowed any more. The operator may allow nets in the settings.',
}

const phases: Readonly<Record<string, string>> = {
  dns: 'while it asked for the name',
  connect: 'while it connected',
  head: 'while it waited for the answer',
  body: 'while it read the answer',
}

/** The outcome with its status, e.g. `503, receiver failed`. */
export function attemptState({ outcome, status }: Pick<AttemptAnswer, 'outcome' | 'status'>): StateWords {
  const words = outcomeWords[outcome] ?? outcome.replaceAll('_', ' ')
  const tone: StateTone = outcome === 'ok' ? 'good' : outcome === 'throttled' ? 'notice' : 'bad'
  return { tone, text: status === null ? words : `${status}, ${words}` }
}

/** What ended it and what to do; empty for a success. */
export function adviceOn({
  outcome,
  phase,
  status,
}: Pick<AttemptAnswer, 'outcome' | 'phase' | 'status'>): string {
  if (outcome === 'ok') return ''
  const where = status === null ? `It ended ${phases[phase] ?? phase}. ` : ''
  return `${where}${advice[outcome] ?? ''}`.trim()
}

/** When the next attempt is due, counted down. */
export function nextWords(nextAttempt: string | null, nowMs: number): string {
  const nextMs = millisOf(nextAttempt)
  if (nextMs === null) return 'when the endpoint is enabled'
  return nextMs <= nowMs ? 'due' : `in ${briefly(nextMs - nowMs)}`
}

/** What a replay would send, in a sentence. */
export function countWords(count: number, waiting: number | null, more: boolean): string {
  if (count === 0) return 'Nothing in it matches the filter of this endpoint.'
  const events = `${more ? 'At least ' : ''}${counted(count, 'event')}`
  if (waiting === null || waiting === 0) return `${events}.`
  return `${events}; ${waiting} of them ${waiting === 1 ? 'waits' : 'wait'} for a retry and ${waiting === 1 ? 'is' : 'are'} due at once.`
}
