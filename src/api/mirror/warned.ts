/**
 * Warnings in an answer that is there already. Owns where they go, so that every path of the API can warn in the same way.
 * Refuses to re-encode the answer: what others wrote, upstream among them, stays the text it is.
 */
import { findMember } from '../../upstream/split-items.ts'
import type { MirrorAnswer } from './answer.ts'

/**
 * The answer with these in its top-level list `warnings`, behind what is in it. A refusal stays as it is, and so does a
 * body that is no object or whose own `warnings` is no list. The body must be valid JSON.
 */
export function warned(answer: MirrorAnswer, warnings: readonly string[]): MirrorAnswer {
  const { status, body } = answer
  if (status !== 200 || warnings.length === 0 || !body.trimStart().startsWith('{')) return answer
  const entries = warnings.map((warning) => JSON.stringify(warning)).join(',')
  const own = findMember(body, 'warnings')
  if (own === null) return withLast(answer, body.lastIndexOf('}'), '{', `"warnings":[${entries}]`)
  return body[own.start] === '[' ? withLast(answer, own.end - 1, '[', entries) : answer
}

/** The answer with one more entry before the bracket at `end`, of the object or list that `opening` begins. */
function withLast(answer: MirrorAnswer, end: number, opening: '{' | '[', entry: string): MirrorAnswer {
  const before = answer.body.slice(0, end).trimEnd()
  const comma = before.endsWith(opening) ? '' : ','
  return { ...answer, body: `${before}${comma}${entry}${answer.body.slice(end)}` }
}
