/**
 * Compares docs/use/filters.md with the parser: every example is accepted, every error text is exact, every preset and
 * field is listed.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseFilter, plainFieldNames } from '../../../src/core/filter/filter-parse.ts'
import { parseFilterQuery } from '../../../src/core/filter/filter-query.ts'
import { presetNames, presets } from '../../../src/core/filter/presets.ts'
import type { BridgeError } from '../../../src/errors.ts'

const page = readFileSync(new URL('../../../docs/use/filters.md', import.meta.url), 'utf8')

/** The first group of every match. */
function found(pattern: RegExp): string[] {
  return [...page.matchAll(pattern)].map(([, group = '']) => group)
}

test('every example is a filter', () => {
  const json = [...found(/^```json\n(.*?)\n```$/gms), ...found(/'filter=(\{.*\})'$/gm)]
  expect(json.length).toBeGreaterThan(4)
  for (const text of json) expect(Object.keys(parseFilter(JSON.parse(text)))).not.toEqual([])
})

test('both forms of the first example are the same filter', () => {
  const [json = ''] = found(/^```json\n(.*?)\n```$/gms)
  const [query = ''] = found(/"\$B\/v1\/disclosures\?([^"]+)"/g)
  expect(parseFilterQuery(new URLSearchParams(query))).toEqual(parseFilter(JSON.parse(json)))
})

test('every error on the page has the parser’s exact text', () => {
  const rows = [...page.matchAll(/^\| `(\{.*?\})` \| `([^`]+)` (.*) \|$/gm)]
  expect(rows.length).toBeGreaterThan(8)
  for (const [, written = '', field, message] of rows) {
    const attempt = (): unknown => parseFilter(JSON.parse(written))
    expect(attempt).toThrow(
      expect.toSatisfy(
        (error: BridgeError) => error.errors[0]?.field === field && error.errors[0]?.message === message,
      ),
    )
  }
})

test('every field is in the table', () => {
  const named = found(/^\| `(\w+)` \| [^|]+ \| [^|]+ \|$/gm)
  for (const name of [...plainFieldNames, 'exclude', 'filters']) expect(named).toContain(name)
})

test('every preset is listed with its meaning and codes', () => {
  for (const name of presetNames) {
    const { meaning, fcaCategories, keeps } = presets[name]
    const codes = fcaCategories.map((code) => `\`${code}\``).join(' ')
    expect(page).toContain(`| \`${name}\` | ${meaning} | ${keeps} ${codes} |`)
  }
})
