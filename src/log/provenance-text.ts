/** Writes as text, and reads again, how an item was found and which topics hold its event, for the stores of the log. */
import type { Provenance } from '../core/event.ts'
import { waysFound } from '../core/purpose.ts'

/** The way that a stored text names; absent where there is none, or one that only later builds know. */
export function withFoundBy(text: string | null): Pick<Provenance, 'foundBy'> {
  const foundBy = waysFound.find((way) => way === text)
  return foundBy === undefined ? {} : { foundBy }
}

/** Topics as one text. */
export function topicsText(topics: readonly string[]): string {
  return topics.join(',')
}

/** The topics of a stored text; absent where there is none. */
export function withTopics(text: string | null): Pick<Provenance, 'topics'> {
  if (text === null) return {}
  return { topics: text === '' ? [] : text.split(',') }
}
