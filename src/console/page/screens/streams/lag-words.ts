/** Says how far a reader is behind, in events and in time, and whether that grows. Pure. */
import type { StateTone } from '../../parts/state.ts'
import { inWords } from '../../parts/times.ts'

/** How far a reader is behind. */
export interface Lag {
  lagEvents: number | null
  lagSeconds: number | null
}

/** A lag that somebody should look at: a live reader is behind by less. */
const NOTICE_SECONDS = 30
const BAD_SECONDS = 600
/** Over this time the trend is taken. */
const TREND_MS = 60_000
const EARLIEST_TREND_MS = 10_000

const count = new Intl.NumberFormat('en-GB')

/** The lag, and how good it is. */
export function lagWords({ lagEvents, lagSeconds }: Lag): { tone: StateTone; text: string } {
  if (lagEvents === null) return { tone: 'idle', text: 'not known' }
  if (lagEvents === 0) return { tone: 'good', text: 'has everything' }
  const events = `${count.format(lagEvents)} ${lagEvents === 1 ? 'event' : 'events'}`
  if (lagSeconds === null) return { tone: 'notice', text: `${events} behind` }
  const tone = lagSeconds < NOTICE_SECONDS ? 'good' : lagSeconds < BAD_SECONDS ? 'notice' : 'bad'
  return { tone, text: `${events}, ${inWords(lagSeconds * 1000)} behind` }
}

/** A lag at a moment, ms since 1970. */
export interface LagSample {
  atMs: number
  lagEvents: number
}

/** The samples with another one, as far back as the trend needs them. */
export function withSample(samples: readonly LagSample[], next: LagSample): readonly LagSample[] {
  return [...samples.filter(({ atMs }) => next.atMs - atMs <= TREND_MS && atMs < next.atMs), next]
}

/** Whether the lag grows, in words; empty while that is not known, and where it is and was zero. */
export function trendWords(samples: readonly LagSample[]): string {
  const [first] = samples
  const last = samples.at(-1)
  if (first === undefined || last === undefined || last.atMs - first.atMs < EARLIEST_TREND_MS) return ''
  const change = last.lagEvents - first.lagEvents
  if (change === 0) return last.lagEvents === 0 ? '' : 'steady'
  const perMinute = Math.max(1, Math.round((Math.abs(change) * 60_000) / (last.atMs - first.atMs)))
  return `${change > 0 ? '▲ grows' : '▼ shrinks'} by ${count.format(perMinute)} a minute`
}
