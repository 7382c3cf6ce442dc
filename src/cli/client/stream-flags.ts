/**
 * The flags of commands that follow a stream: where to begin, beside the filter's. Owns the beginnings. Refuses to judge
 * them: the bridge does, and its words are passed on.
 */
import type { ParseArgsConfig } from 'node:util'
import { FILTER_HELP, filterFlags } from './filter-flags.ts'

const names = ['after', 'since', 'tail'] as const

/** For `readFlags`: the filter, and the beginnings. */
export const streamFlags: NonNullable<ParseArgsConfig['options']> = {
  ...filterFlags,
  ...Object.fromEntries(names.map((name) => [name, { type: 'string' } as const])),
}

/** The lines of a command's help about them. */
export const STREAM_HELP = `Where to begin; without one of them with what comes from now on:
  --after CURSOR        after that event
  --since TIME          with the first event of that time or later, e.g. 2026-02-03T07:00Z
  --tail N              with the last N that match, 1 to 1000

Which events; fields and values of docs/filters.md, lists comma-separated or repeated:
${FILTER_HELP}`

/** The beginning as query parameters. */
export function startParameters(values: Readonly<Record<string, unknown>>): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const name of names) {
    const text = textOf(values[name])
    if (text !== undefined) parameters.set(name, text)
  }
  return parameters
}

/** The text of a flag that is given once at most. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
