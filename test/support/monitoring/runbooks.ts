/** Reads the runbooks of the alerts: what an operator types and asks, as it stands there. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../house/repository.ts'

/** The runbook of one alert. */
export interface Runbook {
  alert: string
  /** Its prose, without the fenced lines. */
  text: string
  /** Lines for a shell. */
  commands: readonly string[]
  /** Queries to look at first. */
  look: readonly string[]
  /** The query that returns nothing once it is over. */
  over: string
}

const PAGE = 'deploy/monitoring/runbooks.md'

/**
 * Every section of the page that is about an alert.
 * @throws Error for one without something to look at, or without the query that says that it is over
 */
export function readRunbooks(): Runbook[] {
  const page = readFileSync(join(root, PAGE), 'utf8')
  return page
    .split(/^## (?=Bridge)/m)
    .slice(1)
    .map((section) => {
      const [alert = '', ...rest] = section.split(/^## /m)[0]?.split('\n') ?? []
      const body = rest.join('\n')
      const [look, over, ...more] = linesOf(body, 'promql')
      const [commands] = linesOf(body, 'sh')
      if (look === undefined || over?.length !== 1 || more.length > 0 || commands === undefined)
        throw new Error(
          `${PAGE}: ${alert} needs commands, queries to look at, and one that says when it is over`,
        )
      const text = body.replace(/^```[\s\S]*?^```\n/gm, '')
      return { alert, text, commands, look, over: over[0] ?? '' }
    })
}

/** The lines of each fence of that language. */
function linesOf(body: string, language: string): string[][] {
  return [...body.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, found]) => found === language)
    .map(([, , lines = '']) => lines.trimEnd().split('\n'))
}
