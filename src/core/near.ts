/**
 * The near match for a wrong name, so that an error can say what was meant. Owns nothing else.
 */

/** Longest name that is compared; whatever is longer was no slip of the finger. */
const LONGEST_NAME = 64

/** What a wrong character costs, where one missing or too many costs 1: of two equals, fingers rather leave one out. */
const WRONG_CHARACTER = 1.01

/** What a whole word costs that is left out or too many, however long: "categories" is near "fcaCategories". */
const WHOLE_WORD = 2
/** Where a name of several words is parted: "_", "-", and before a capital within. */
const BETWEEN_WORDS = /[_-]|(?<=[a-z])(?=[A-Z])/

/**
 * The candidate closest to `name` within a third of its length (at least two edits), or null. Case costs nothing;
 * a candidate that shares no character in place with it is not near.
 */
export function nearMatch(name: string, candidates: readonly string[]): string | null {
  if (name.length > LONGEST_NAME) return null
  const wanted = name.toLowerCase()
  let best: string | null = null
  let bestEdits = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of candidates) {
    const edits = Math.min(editDistance(wanted, candidate.toLowerCase()), wordDistance(name, candidate))
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
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1] ? 0 : WRONG_CHARACTER
      current.push(
        Math.min(
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (previous[column - 1] ?? 0) + same,
        ),
      )
    }
    previous = current
  }
  return previous[to.length] ?? 0
}
