/**
 * Makes ids of a prefix, the time of creation and random digits. Ids are never reused and sort by time of creation;
 * inside a millisecond they have no order.
 */
import { randomBytes } from 'node:crypto'

/** What has ids, by the prefix of its ids. */
export type IdPrefix = 'tok' | 'ep' | 'rp' | 'att' | 'test'

const CHANCE_BYTES = 6
/** Digits of a time in base 36: enough until the year 5188. */
const TIME_DIGITS = 9

/** A new id. */
export function newId(prefix: IdPrefix, nowMs: number): string {
  return timedId(prefix, nowMs, randomBytes(CHANCE_BYTES).toString('hex'))
}

/** The id of what has none of its own: `digits`, twelve, take the place of chance. */
export function timedId(prefix: IdPrefix, atMs: number, digits: string): string {
  return `${prefix}_${atMs.toString(36).padStart(TIME_DIGITS, '0')}${digits}`
}

/** Whether a text has the form of such an id. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-9a-z]{21}$/.test(text.slice(prefix.length + 1))
}
