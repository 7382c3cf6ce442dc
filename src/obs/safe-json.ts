/**
 * Escapes characters of a JSON text that could steer a terminal or reverse what a person reads, without changing the value.
 */

/**
 * Controls above ASCII, which a terminal may obey (U+009B begins a command); format characters such as those that reverse
 * text; separators of lines; private use. All are valid inside JSON strings alone, so an escape never changes the structure.
 */
const STEERING = /[\u007f-\u009f\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu

/** The same JSON with each of these characters as `\uXXXX`. Control characters of ASCII are escaped by JSON itself. */
export function safeJson(json: string): string {
  return json.replace(STEERING, (character) =>
    Array.from({ length: character.length }, (_, unit) => escaped(character.charCodeAt(unit))).join(''),
  )
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
