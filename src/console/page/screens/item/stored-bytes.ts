/**
 * Cuts the event out of the answer of `GET /v1/disclosures/{id}`, byte for byte as streams send it and webhooks sign it. The
 * answer is the event with further members after `data`.
 */

/** The further members, in the order in which the bridge writes them. */
const DETAILS = ['revisions', 'replacedBy', 'topics', 'foundBy', 'committedTime'] as const

/** The text of the event; null where the answer is not built as expected, so that nothing wrong is shown as signed. */
export function storedText(answer: string): string | null {
  const members = JSON.parse(answer) as Record<string, unknown>
  const details = Object.fromEntries(DETAILS.map((name) => [name, members[name]]))
  const added = `,${JSON.stringify(details).slice(1)}`
  return answer.endsWith(added) ? `${answer.slice(0, -added.length)}}` : null
}
