/**
 * What a terminal may be given: text without anything that steers it, and colours where they are wanted. Owns both
 * rules. Refuses to know what is said.
 */

/** Control and format characters, line separators, halves of characters: what could move a cursor or turn text round. */
const STEERING = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu

/** Text from outside as one line that is safe to print. */
export function harmless(text: string): string {
  return text.replace(STEERING, '\ufffd')
}

/** A way to say something louder or softer. */
export type Tone = 'alarm' | 'strong' | 'soft' | 'plain'

const CODES: Record<Tone, string | null> = { alarm: '1;31', strong: '33', soft: '2', plain: null }

/** Paints text in a tone. */
export type Paint = (tone: Tone, text: string) => string

/** Colours where they are wanted, else the text as it is. */
export function painter(colour: boolean): Paint {
  return (tone, text) => {
    const code = CODES[tone]
    return colour && code !== null ? `\u001b[${code}m${text}\u001b[0m` : text
  }
}

/** True where colours are wanted: on a terminal, unless NO_COLOR says otherwise. */
export function wantsColour(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  return isTerminal && (env.NO_COLOR ?? '') === ''
}
