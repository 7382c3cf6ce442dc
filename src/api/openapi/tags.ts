/**
 * Lists the tags of the OpenAPI document, each with a one-line description. `words.ts` derives the tag of a path.
 */

const sentences: Readonly<Record<string, string>> = {
  disclosures: 'Events by pull.',
  events: 'Events as server-sent events.',
  stream: 'Events over WebSocket.',
  filters: 'Filters, tried out.',
  webhooks: 'Endpoints of webhooks: their settings, attempts, deliveries and replays.',
  tokens: 'Who may do what.',
  tickets: 'What opens a WebSocket in a browser.',
  status: 'How the bridge is.',
  report: 'What each day brought.',
  'openapi.json': 'What is asked and answered over HTTP, for tools.',
  'asyncapi.json': 'What comes by Kafka, webhook and stream, for tools.',
}

/** A tag as the document lists it. */
export interface Tag {
  name: string
  /** Absent where `sentences` has none. */
  description?: string
}

/** Builds the tags of these names, each once, sorted by name. */
export function tagsOf(names: Iterable<string>): Tag[] {
  return [...new Set(names)].sort().map((name) => {
    const description = name.startsWith('upstream ') ? 'As the upstream API has it.' : sentences[name]
    return description === undefined ? { name } : { name, description }
  })
}
