/**
 * The groups of an OpenAPI document's operations, each with a sentence. Owns these sentences. Refuses to sort paths into
 * groups: `words.ts` does.
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

/** A group as the document lists it. */
export interface Tag {
  name: string
  /** Absent where nobody has written one. */
  description?: string
}

/** Groups of these names, each once, by name. */
export function tagsOf(names: Iterable<string>): Tag[] {
  return [...new Set(names)].sort().map((name) => {
    const description = name.startsWith('upstream ') ? 'As the upstream API has it.' : sentences[name]
    return description === undefined ? { name } : { name, description }
  })
}
