/**
 * Reads an event filter from command-line flags: one flag per field (`--hasSymbol` or `--has-symbol`), or the whole
 * filter as JSON. Its values are checked by the bridge that receives it.
 */
import { plainFieldNames } from '../../core/filter/filter-parse.ts'
import { filterValue } from '../../core/filter/filter-query.ts'
import { BridgeError, isBridgeError, textOf } from '../../errors.ts'

const names = [...plainFieldNames, 'filter'] as const

/** For `readFlags`. */
export const filterFlags = Object.fromEntries(
  names.flatMap((name) => [name, kebabCase(name)]).map((name) => [name, { type: 'string', multiple: true }]),
) as Record<(typeof names)[number], { type: 'string'; multiple: true }>

/** The lines of a command's help about them. */
export const FILTER_HELP = `  --isins, --symbols, --leis, --match, --fca-categories, --native-categories,
  --importance, --q, --has-symbol, --types, --preset
  --filter JSON         the whole filter, with exclude and filters`

/** The values of these flags as query parameters. */
export function filterParameters(values: Readonly<Record<string, unknown>>): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const name of names) {
    for (const spelling of new Set([name, kebabCase(name)])) {
      const given = values[spelling]
      for (const text of Array.isArray(given) ? given : []) parameters.append(name, textOf(text))
    }
  }
  return parameters
}

/**
 * The filter as JSON value, not checked; undefined where there is none.
 * @throws BridgeError `usage` for flags that do not go together, and for `--filter` that is not JSON
 */
export function filterOf(values: Readonly<Record<string, unknown>>): unknown {
  try {
    return filterValue(filterParameters(values))
  } catch (error) {
    if (!isBridgeError(error, 'filter_invalid')) throw error
    throw new BridgeError('usage', error.message, {
      hint: 'docs/use/filters.md lists the fields of a filter, --help the flags.',
      errors: error.errors,
    })
  }
}

/** `fcaCategories` as `fca-categories`. */
function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
