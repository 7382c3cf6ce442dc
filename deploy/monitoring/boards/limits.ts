/** Reads the limits that panels show from the alert rules: no figure of an alert or an objective is written twice. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

/** From where on a value is bad. */
export interface Limit {
  /** Which side of it is bad. */
  bad: 'above' | 'below'
  value: number
}

const rules = z
  .object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            alert: z.string().optional(),
            record: z.string().optional(),
            labels: z.record(z.string(), z.string()).default({}),
            expr: z.string(),
          }),
        ),
      }),
    ),
  })
  .parse(parse(readFileSync(join(import.meta.dirname, '../rules/bridge.yml'), 'utf8')))
  .groups.flatMap((group) => group.rules)

/** The first limit in the expression of an alert. A count that may not be above 0 is bad from 1 on. */
export function limitOf(alert: string): Limit {
  const expr = rules.find((rule) => rule.alert === alert)?.expr ?? ''
  const [, sign, factors] = /([<>]) (\d[\d.]*(?: \* \d[\d.]*)*)/.exec(expr) ?? []
  if (factors === undefined) throw new Error(`${alert} compares with no number`)
  const value = factors.split(' * ').reduce((product, factor) => product * Number(factor), 1)
  return sign === '<' ? { bad: 'below', value } : { bad: 'above', value: value === 0 ? 1 : value }
}

/** The seconds within which an objective wants its share. */
export function objectiveLimit(objective: 'commit' | 'publish' | 'stream'): Limit {
  const rule = rules.find(
    ({ record, labels }) => record === 'bridge:objective_slow:rate5m' && labels.objective === objective,
  )
  const [, seconds] = /le="([\d.]+)"/.exec(rule?.expr ?? '') ?? []
  if (seconds === undefined) throw new Error(`the rules have no objective ${objective}`)
  return { bad: 'above', value: Number(seconds) }
}

/** The share that may miss an objective. */
export function budgetLimit(): Limit {
  return limitOf('BridgeBudgetBurns')
}
