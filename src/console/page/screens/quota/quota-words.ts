/** Puts the weekly quota and the comparison of plans into words. */
import type { QuotaAnswer } from '../../../../api/operations/quota-route.ts'
import { counted } from '../../parts/elapsed.ts'

/** How good the quota stands. */
export type QuotaState = 'enough' | 'tight' | 'spent' | 'unknown'

/** From here on what is planned leaves hardly anything for surprises. */
const TIGHT = 0.98
/** Counts differ by this much before the difference is worth a word, as a share of the limit. */
const DRIFT_SAID = 0.005

/** How the quota stands. */
export function quotaState({ remaining, forecast }: QuotaAnswer['quota']): QuotaState {
  if (remaining === null) return 'unknown'
  if (remaining <= 0) return 'spent'
  return forecast !== null && forecast > TIGHT ? 'tight' : 'enough'
}

/** A state in a word or two. */
export const quotaStates: Readonly<Record<QuotaState, string>> = {
  enough: 'enough',
  tight: 'tight',
  spent: 'spent',
  unknown: 'not known',
}

/** How the quota stands, a sentence each. `timeOf` puts a time into words. */
export function quotaSentences(answer: QuotaAnswer, timeOf: (iso: string) => string): string[] {
  const { quota, plan, pollsUntilReset } = answer
  const { limit, used, remaining, reset, forecast, drift } = quota
  if (limit === null || used === null || remaining === null)
    return ['The leader does not know the quota yet: no request has been answered.']
  const since = plan.reset === 'weekly' ? 'since the last reset' : 'in the last seven days'
  const until =
    reset === null ? '' : plan.reset === 'weekly' ? ` until ${timeOf(reset)}, when all come back` : ''
  const next =
    reset !== null && plan.reset === 'rolling'
      ? [`Each unit comes back after seven days, the next ${timeOf(reset)}.`]
      : []
  return [
    `${counted(used, 'unit')} of ${limit.toLocaleString('en-GB')} spent ${since}; ${remaining.toLocaleString('en-GB')} left${until}.`,
    ...next,
    ...(forecast === null
      ? []
      : [
          forecast > 1
            ? `A usual week takes ${percent(forecast)} of what is left: polls become rarer, or end before units come back. ${counted(pollsUntilReset, 'poll')} can be planned.`
            : `What is planned takes ${percent(forecast)} of what is left: ${counted(pollsUntilReset, 'poll')} and the fills and re-scans that are expected.`,
        ]),
    ...(drift !== null && Math.abs(drift) >= DRIFT_SAID ? [driftSentence(drift)] : []),
  ]
}

function driftSentence(drift: number): string {
  const than = drift > 0 ? 'more' : 'fewer'
  const why = drift > 0 ? ' Another program may use the same key.' : ''
  return `The upstream counts ${percent(Math.abs(drift))} of the quota ${than} than the bridge.${why}`
}

/** A share in percent: two digits that count. */
export function percent(share: number): string {
  const value = share * 100
  if (value === 0) return '0 %'
  if (value < 0.1) return 'below 0.1 %'
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} %`
}

/** Seconds in words, with a digit after the point below a hundred. */
export function secondsWords(seconds: number): string {
  return seconds < 100 ? `${Math.round(seconds * 10) / 10} s` : `${Math.round(seconds / 6) / 10} min`
}

/** A plan of the comparison. */
export type ComparedAnswer = NonNullable<QuotaAnswer['comparison']>['plans'][number]

/** What another plan would change, in one sentence; of the plan in use how it is. */
export function planSentence(plan: ComparedAnswer, present: ComparedAnswer | undefined): string {
  const delay = secondsWords(plan.meanDelayS)
  if (plan.plan === present?.plan) return `On ${plan.plan}, as now, an item waits ${delay} on average.`
  const than = present === undefined ? '' : ` instead of ${secondsWords(present.meanDelayS)}`
  return `On ${plan.plan} it would be ${delay}${than}.`
}
