/** Figures of the benchmarks: the median of several runs with the spread, against a goal or baselines. */

/** Another way to do the same work. */
interface Baseline {
  name: string
  /** One value a run. */
  values: number[]
}

export interface Figure {
  name: string
  unit: string
  /** One value a run. */
  values: number[]
  /** The goal on a machine with two cores, and whether more or less is better. */
  goal?: { atLeast: number } | { atMost: number }
  /** The same work done in other ways in the same run; the ratio to each is what is judged. */
  baselines?: readonly Baseline[]
}

/** The median. Throws RangeError when there is none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new RangeError('no values')
  return middle
}

/** The smallest value that `share` of them do not exceed (nearest rank), e.g. 0.99. Throws RangeError when there is none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
  if (value === undefined) throw new RangeError('no values')
  return value
}

/** One line a figure: median, spread, goal, ratio to each baseline. */
export function formatFigure({ name, unit, values, goal, baselines = [] }: Figure): string {
  const middle = median(values)
  const parts = [`${name.padEnd(46)} ${show(middle).padStart(10)} ${unit.padEnd(9)}`]
  parts.push(`(${show(Math.min(...values))} to ${show(Math.max(...values))}, ${values.length} runs)`)
  if (goal !== undefined) {
    const [word, bound, met] =
      'atLeast' in goal
        ? ['at least', goal.atLeast, middle >= goal.atLeast]
        : ['at most', goal.atMost, middle <= goal.atMost]
    parts.push(`goal ${word} ${show(bound)}: ${met ? 'met' : 'MISSED'}`)
  }
  for (const baseline of baselines) {
    const theirs = median(baseline.values)
    parts.push(`${(middle / theirs).toFixed(2)} of ${baseline.name} (${show(theirs)})`)
  }
  return parts.join('  ')
}

function show(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-GB') : value.toFixed(2)
}
