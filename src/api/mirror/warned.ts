/**
 * Adds warnings to a finished JSON response of any path. The rest of the text is not re-encoded.
 */
import { findMember } from '../../upstream/split-items.ts'
import type { MirrorAnswer } from './answer.ts'

/**
 * Appends the warnings to the top-level list `warnings`. Leaves a refusal unchanged, and a body that is not an object or
 * whose own `warnings` is not a list. The body must be valid JSON.
 */
export function warned(answer: MirrorAnswer, warnings: readonly string[]): MirrorAnswer {
  const { status, body } = answer
  if (status !== 200 || warnings.length === 0 || !body.trimStart().startsWith('{')) return answer
  const entries = warnings.map((warning) => JSON.stringify(warning)).join(',')
  const own = findMember(body, 'warnings')
  if (own === null) return withLast(answer, body.lastIndexOf('}'), '{', `"warnings":[${entries}]`)
  return body[own.start] === '[' ? withLast(answer, own.end - 1, '[', entries) : answer
}

/** Inserts one more entry before the bracket at `end`, in the object or list that `opening` begins. */
function withLast(answer: MirrorAnswer, end: number, opening: '{' | '[', entry: string): MirrorAnswer {
  const before = answer.body.slice(0, end).trimEnd()
  const comma = before.endsWith(opening) ? '' : ','
  return { ...answer, body: `${before}${comma}${entry}${answer.body.slice(end)}` }
}
