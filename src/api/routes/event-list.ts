/** Joins stored events into a JSON list without parsing them. */

const BEGIN = Buffer.from('[')
const COMMA = Buffer.from(',')
const END = Buffer.from(']')

/** The pieces of `[event,event,…]`: the bytes of each event are copied once, by whoever joins them into an answer. */
export function eventList(events: readonly Buffer[]): Buffer[] {
  return [BEGIN, ...events.flatMap((json, index) => (index === 0 ? [json] : [COMMA, json])), END]
}
