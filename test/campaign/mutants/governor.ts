/** Mutants of the governor: the quota ledger, the rate limit, and what may be spent on what. */
import type { Mutant } from './mutant.ts'

const quotaTest = (name: string, title: string) => ({ file: `test/governor/quota/${name}.test.ts`, title })
const pacingTest = (title: string) => ({ file: 'test/governor/schedule/pacing.test.ts', title })

/** Mutants of `src/governor`. */
export const governorMutants: readonly Mutant[] = [
  {
    name: 'bucket-counted-from-its-start',
    file: 'src/governor/quota/ledger.ts',
    before: 'if (bucketMs + COUNTED_MS <= startMs) continue',
    after: 'if (bucketMs <= startMs) continue',
    breaks:
      'A time bucket that is only partly inside the week counts in full: our count is never below upstream’s.',
    killedBy: quotaTest(
      'ledger',
      'a unit recorded just before its time bucket ends counts as long as upstream counts it',
    ),
  },
  {
    name: 'fixed-reset-too-early',
    file: 'src/governor/quota/ledger.ts',
    before: 'const sinceAnchorMs = nowMs - BEHIND_MS - anchorMs',
    after: 'const sinceAnchorMs = nowMs - anchorMs',
    breaks: 'A fixed week begins two seconds late here, because upstream’s clock may be behind ours.',
    killedBy: quotaTest('ledger', 'a fixed reset frees all units two seconds after its minute, not before'),
  },
  {
    name: 'drain-keeps-the-burst',
    file: 'src/governor/quota/token-bucket.ts',
    before: 'fullAtMs = Math.max(fullAtMs, nowMs + room * spacingMs)',
    after: 'fullAtMs = Math.max(fullAtMs, nowMs)',
    breaks: 'A new leader does not know what was sent just before, so it begins without a burst.',
    killedBy: quotaTest(
      'token-bucket',
      'a drained bucket grants no burst: its tokens come one at a time, each an interval later',
    ),
  },
  {
    name: 'whole-burst-used',
    file: 'src/governor/quota/token-bucket.ts',
    before: 'const room = Math.max(1, plan.burst - 1)',
    after: 'const room = Math.max(1, plan.burst)',
    breaks: 'The last token of a burst stays unused, because requests arrive with jitter.',
    killedBy: quotaTest(
      'token-bucket',
      'a full bucket grants its burst at once, minus one token reserved for jitter',
    ),
  },
  {
    name: 'fills-without-limit',
    file: 'src/governor/schedule/pacing.ts',
    before: "mayRequest(ledger, nowMs) && spentOn(ledger, ['fill'], nowMs) < weeklyQuota * MOST_FILL_SHARE,",
    after: 'mayRequest(ledger, nowMs),',
    breaks: 'Fills take at most half of the weekly quota, so that polls go on.',
    killedBy: pacingTest(
      'gap retries stop at their share, fills at half of the quota, and polls only when it is used up',
    ),
  },
  {
    name: 'reconciliation-not-affordable',
    file: 'src/governor/schedule/pacing.ts',
    before: 'unitsLeft(ledger, nowMs) >= units &&',
    after: '',
    breaks: 'A daily reconciliation starts only if the units that are left cover all of it.',
    killedBy: pacingTest('a daily reconciliation starts only when the remaining units cover all of it'),
  },
  {
    name: 'request-beyond-the-quota',
    file: 'src/governor/schedule/pacing.ts',
    before: 'unitsLeft(ledger, nowMs) > 0',
    after: 'unitsLeft(ledger, nowMs) >= 0',
    breaks: 'The weekly quota is never exceeded.',
    killedBy: {
      file: 'test/ingest/machine/troubles.test.ts',
      title: 'sends nothing while the quota is used up, logs it once, and polls as soon as units come back',
    },
  },
]
