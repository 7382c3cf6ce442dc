/**
 * Finds the name that a mistyped name was probably meant to be, by edit distance, for error messages that ask "did you
 * mean".
 */

/** Longer names are not compared. */
const LONGEST_NAME = 64

/** Share of a name's length that may be wrong: with more, most short names are near each other. */
const WRONG_SHARE = 1 / 3

/** Of names of three or four letters the end may be missing, however long: "fail" is near "failed". */
const SHORT_NAME = 4
const MISSING_END = 1.9

/** Cost of a wrong character. A missing or extra one costs 1, because it is the more frequent slip. */
const WRONG_CHARACTER = 1.01

/** Cost of a missing or extra word, however long: "categories" is near "fcaCategories". */
const WHOLE_WORD = 2
/** Splits a name into words: at "_", "-" and before an inner capital. */
const BETWEEN_WORDS = /[_-]|(?<=[a-z])(?=[A-Z])/

/**
 * The candidate closest to `name`, or null. Allowed are edits up to a third of its length, a missing end of a short name,
 * and whole words that are missing or extra. Case is ignored, and two swapped neighbours are one edit.
 */
export function nearMatch(name: string, candidates: readonly string[]): string | null {
  if (name.length > LONGEST_NAME) return null
  const wanted = name.toLowerCase()
  let best: string | null = null
  const isShort = name.length <= SHORT_NAME
  const mostTypos = Math.floor(name.length * WRONG_SHARE)
  const mostWords = isShort ? 0 : Math.max(WHOLE_WORD, mostTypos)
  let bestEdits = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const lower = candidate.toLowerCase()
    const edits = Math.min(
      atMost(mostTypos, editDistance(wanted, lower)),
      atMost(mostWords, wordDistance(name, candidate)),
      isShort && name.length >= 3 && lower.startsWith(wanted) ? MISSING_END : Number.POSITIVE_INFINITY,
    )
    if (edits < bestEdits && edits < Math.max(name.length, candidate.length)) {
      best = candidate
      bestEdits = edits
    }
  }
  return best
}

/** ` – did you mean "x"?`, or nothing where no candidate is near. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const near = nearMatch(name, candidates)
  return near === null ? '' : ` – did you mean "${near}"?`
}

/** The distance where it is within the limit, wrong characters counted as one; else infinite. */
function atMost(most: number, distance: number): number {
  return Math.floor(distance) <= most ? distance : Number.POSITIVE_INFINITY
}

/** Between names of which one is the other with words left out; infinite between all others. */
function wordDistance(name: string, candidate: string): number {
  const [fewer = [], more = []] = [name, candidate]
    .map((text) => text.split(BETWEEN_WORDS).map((word) => word.toLowerCase()))
    .sort((one, other) => one.length - other.length)
  let found = 0
  for (const word of more) if (word === fewer[found]) found += 1
  return found === fewer.length ? (more.length - fewer.length) * WHOLE_WORD : Number.POSITIVE_INFINITY
}

function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1] ? 0 : WRONG_CHARACTER
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current.push(
        Math.min(
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (previous[column - 1] ?? 0) + same,
          isSwap ? (beforePrevious[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    beforePrevious = previous
    previous = current
  }
  return previous[to.length] ?? 0
}
