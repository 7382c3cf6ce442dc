/** Holds what a form says of an endpoint, and makes the bodies of requests from it. Pure. */
import type { Filter } from '../../../../../clients/typescript/src/messages.ts'
import { filterText } from '../../parts/filter/filter-values.ts'
import type { EndpointAnswer } from '../../parts/managing-answers.ts'

/** A header as it is typed. */
export interface HeaderDraft {
  name: string
  value: string
}

/** What the form holds: texts as they are typed, because the bridge says what is wrong with them. */
export interface EndpointDraft {
  url: string
  description: string
  filter: Filter
  headers: readonly HeaderDraft[]
  maxConcurrency: string
  rateLimit: string
  maxBatch: string
  order: string
}

const MEMBERS = ['url', 'description', 'headers', 'maxConcurrency', 'rateLimit', 'maxBatch', 'order'] as const

/** A form for a new endpoint. */
export function newDraft(filter: Filter): EndpointDraft {
  return {
    url: '',
    description: '',
    filter,
    headers: [],
    maxConcurrency: '8',
    rateLimit: '',
    maxBatch: '',
    order: 'none',
  }
}

/** A form for an endpoint that there is. */
export function draftOf(endpoint: EndpointAnswer): EndpointDraft {
  const { url, description, filter, headers, maxConcurrency, rateLimit, maxBatch, order } = endpoint
  return {
    url,
    description: description ?? '',
    filter,
    headers: Object.entries(headers ?? {}).map(([name, value]) => ({ name, value })),
    maxConcurrency: `${maxConcurrency}`,
    rateLimit: rateLimit === null ? '' : `${rateLimit}`,
    maxBatch: maxBatch === null ? '' : `${maxBatch}`,
    order,
  }
}

/** The body that creates the endpoint. `since`: where deliveries begin; null: with new events. */
export function creationOf(draft: EndpointDraft, since: string | null): Record<string, unknown> {
  return { ...membersOf(draft), filter: draft.filter, ...(since !== null && { since }) }
}

/** The body that changes the endpoint: only what differs. */
export function changeOf(draft: EndpointDraft, endpoint: EndpointAnswer): Record<string, unknown> {
  const [wanted, present] = [membersOf(draft), membersOf(draftOf(endpoint))]
  const changed = MEMBERS.filter((name) => JSON.stringify(wanted[name]) !== JSON.stringify(present[name]))
  const isOtherFilter = filterText(draft.filter) !== filterText(endpoint.filter)
  return {
    ...Object.fromEntries(changed.map((name) => [name, wanted[name]])),
    ...(isOtherFilter && { filter: draft.filter }),
  }
}

/**
 * The form's texts over an endpoint that somebody else has changed: what was edited stays, the rest is as it is now. `both`: the
 * members that were edited here and changed there.
 */
export function rebasedDraft(
  draft: EndpointDraft,
  original: EndpointAnswer,
  present: EndpointAnswer,
): { draft: EndpointDraft; both: string[] } {
  const edited = Object.keys(changeOf(draft, original))
  const changedThere = Object.keys(changeOf(draftOf(present), original))
  const kept = Object.fromEntries(edited.map((name) => [name, draft[name as keyof EndpointDraft]]))
  return {
    draft: { ...draftOf(present), ...kept },
    both: edited.filter((name) => changedThere.includes(name)),
  }
}

function membersOf(draft: EndpointDraft): Record<(typeof MEMBERS)[number], unknown> {
  const { url, description, headers, maxConcurrency, rateLimit, maxBatch, order } = draft
  return {
    url: url.trim(),
    description: description.trim() === '' ? null : description.trim(),
    headers: Object.fromEntries(
      headers.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]),
    ),
    maxConcurrency: numberOf(maxConcurrency) ?? 8,
    rateLimit: numberOf(rateLimit),
    maxBatch: numberOf(maxBatch),
    order,
  }
}

/** null for nothing; text that is no number stays, so that the bridge refuses it. */
function numberOf(text: string): number | string | null {
  const trimmed = text.trim()
  if (trimmed === '') return null
  const number = Number(trimmed)
  return Number.isFinite(number) ? number : trimmed
}
