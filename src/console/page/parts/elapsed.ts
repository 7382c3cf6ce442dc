/** Puts lengths of time, counts and lists into words. */

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** A length of time, e.g. `240 ms`, `1.24 s`, `41 s`, `12 min 4 s`, `3 h 12 min`, `2 d 4 h`. The sign is left out. */
export function elapsedWords(ms: number): string {
  const length = Math.abs(ms)
  if (length < SECOND_MS) return `${Math.round(length)} ms`
  if (length < 10 * SECOND_MS) return `${Math.floor(length / 10) / 100} s`
  if (length < MINUTE_MS) return `${Math.floor(length / SECOND_MS)} s`
  if (length < HOUR_MS) return pair(length, MINUTE_MS, 'min', SECOND_MS, 's')
  if (length < DAY_MS) return pair(length, HOUR_MS, 'h', MINUTE_MS, 'min')
  return pair(length, DAY_MS, 'd', HOUR_MS, 'h')
}

/** `count` things, with the plural that English makes with an s. */
export function counted(count: number, thing: string): string {
  return `${count.toLocaleString('en-GB')} ${thing}${count === 1 ? '' : 's'}`
}

/** Texts as English lists them. */
export function list(texts: readonly string[]): string {
  if (texts.length < 2) return texts.join('')
  return `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}

function pair(length: number, largeMs: number, large: string, smallMs: number, small: string): string {
  const whole = Math.floor(length / largeMs)
  const rest = Math.floor((length % largeMs) / smallMs)
  return rest === 0 ? `${whole} ${large}` : `${whole} ${large} ${rest} ${small}`
}
