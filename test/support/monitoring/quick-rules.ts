/**
 * Shortens the waits (`for`) of alert rules, so that a test sees them fire within minutes. Expressions, windows and
 * thresholds stay those that operators load.
 */
import { parse, stringify } from 'yaml'

interface RuleFile {
  groups: { interval?: string; rules: { alert?: string; for?: string; labels?: { severity?: string } }[] }[]
}

/** Seconds that an alert waits, by those it waits as shipped and by its severity. */
export type ShortenedWait = (shippedSeconds: number, severity: string) => number

/** Alerts wait three tenths of what they wait as shipped: four scrapes in a row may fail on a busy machine. */
export const threeTenths: ShortenedWait = (seconds) => seconds * 0.3

/** The text of a rule file whose alerts wait as long as `shorten` says, and whose groups are all evaluated with the rest. */
export function quickRules(text: string, shorten: ShortenedWait): string {
  const file = parse(text) as RuleFile
  for (const group of file.groups) {
    delete group.interval
    for (const rule of group.rules)
      if (rule.for !== undefined)
        rule.for = `${Math.round(shorten(secondsOf(rule.for), rule.labels?.severity ?? ''))}s`
  }
  return stringify(file)
}

/** The alerts of a rule file: how they wake somebody, and the seconds that they wait. */
export function alertsOf(text: string): ReadonlyMap<string, { severity: string; waitSeconds: number }> {
  const rules = (parse(text) as RuleFile).groups.flatMap((group) => group.rules)
  return new Map(
    rules.flatMap(({ alert, labels, for: wait = '0s' }) =>
      alert === undefined
        ? []
        : [[alert, { severity: labels?.severity ?? '', waitSeconds: secondsOf(wait) }]],
    ),
  )
}

/** @throws Error for anything but whole seconds, minutes, hours or days */
function secondsOf(duration: string): number {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(duration) ?? []
  const seconds = { s: 1, m: 60, h: 3600, d: 86_400 }[unit ?? '']
  if (seconds === undefined) throw new Error(`${duration} is no duration of the rules`)
  return Number(amount) * seconds
}
