/** Writes the PromQL of panels: metrics of the chosen targets, each with the installation that it belongs to. */

/** What recording rules give of the chosen installations. */
export const INSTALLATION = '{installation=~"$installation"}'
const CHOSEN = 'bridge:target:info{installation=~"$installation",instance=~"$instance"}'

/** One line of a panel. */
export interface Query {
  expr: string
  /** Labels in the legend, and words between them. */
  legend: string
}

/** The expression of the chosen targets, with the label `installation`. */
export function ofTargets(expr: string): string {
  return `${expr} * on (job, instance) group_left (installation) ${CHOSEN}`
}

/** Of each process. `labels`: those of the metric that tell its series apart. */
export function byProcess(expr: string, ...labels: string[]): Query {
  return { expr: ofTargets(expr), legend: legendOf(['installation', 'instance', ...labels]) }
}

/** The sum, greatest or least value of each installation, and of each value of `labels`. */
export function byInstallation(how: 'sum' | 'max' | 'min', expr: string, ...labels: string[]): Query {
  const kept = ['installation', ...labels]
  return { expr: `${how} by (${kept.join(', ')}) (${ofTargets(expr)})`, legend: legendOf(kept) }
}

/** What a counter rises by in a second, summed over the processes of an installation. */
export function rateOf(counter: string, ...labels: string[]): Query {
  return byInstallation('sum', `rate(${counter}[$__rate_interval])`, ...labels)
}

/** What a counter has risen by in an hour, summed over the processes of an installation. */
export function hourOf(counter: string, ...labels: string[]): Query {
  return byInstallation('sum', `increase(${counter}[1h])`, ...labels)
}

/** The median of a histogram and the quantile that the objective or a bad moment is judged by. */
export function quantilesOf(histogram: string, high = 0.99): Query[] {
  return [0.5, high].map((quantile) => quantileOf(histogram, quantile))
}

/** One quantile of a histogram, by installation and `labels`. */
export function quantileOf(histogram: string, quantile: number, ...labels: string[]): Query {
  const { expr, legend } = rateOf(`${histogram}_bucket`, ...labels, 'le')
  return {
    expr: `histogram_quantile(${quantile}, ${expr})`,
    legend: `${legend.replace(' {{le}}', '')} p${quantile * 100}`,
  }
}

/** The query with words behind its labels. */
export function called(name: string, { expr, legend }: Query): Query {
  return { expr, legend: `${legend} ${name}` }
}

function legendOf(labels: readonly string[]): string {
  return labels.map((label) => `{{${label}}}`).join(' ')
}
