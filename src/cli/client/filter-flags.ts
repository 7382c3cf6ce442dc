/**
 * The filter as flags: its fields under their own names and as flags are usually written, or whole as JSON. Owns the
 * flags. Refuses to judge a filter: the bridge does.
 */
import type { ParseArgsConfig } from 'node:util'
import { plainFieldNames } from '../../core/filter/filter-fields.ts'

const names = [...plainFieldNames, 'filter']

/** For `readFlags`. */
export const filterFlags: NonNullable<ParseArgsConfig['options']> = Object.fromEntries(
  names.flatMap((name) => [
    [name, { type: 'string', multiple: true }],
    [kebabCase(name), { type: 'string', multiple: true }],
  ]),
)

/** The lines of a command's help about them. */
export const FILTER_HELP = `  --isins, --symbols, --leis, --match, --fcaCategories, --nativeCategories,
  --importance, --q, --hasSymbol, --types, --preset
  --filter JSON         the whole filter, with exclude and filters`

/** The values of these flags as query parameters. */
export function filterParameters(values: Readonly<Record<string, unknown>>): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const name of names) {
    for (const spelling of new Set([name, kebabCase(name)])) {
      const given = values[spelling]
      for (const text of Array.isArray(given) ? given : []) parameters.append(name, String(text))
    }
  }
  return parameters
}

/** `fcaCategories` as `fca-categories`. */
function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
