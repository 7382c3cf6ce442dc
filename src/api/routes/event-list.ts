/** Joins stored events into a JSON list without parsing them. */

const BEGIN = Buffer.from('[')
const COMMA = Buffer.from(',')
const END = Buffer.from(']')

/** Returns the pieces of `[event,event,…]`. The bytes of each event are copied only once, when the caller joins them. */
export function eventList(events: readonly Buffer[]): Buffer[] {
  return [BEGIN, ...events.flatMap((json, index) => (index === 0 ? [json] : [COMMA, json])), END]
}
