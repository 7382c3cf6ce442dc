/**
 * Makes text safe and readable in a terminal: replaces control characters, adds colours, and writes counts with their
 * noun (`2 days`).
 */

/** Control and format characters, line separators, lone surrogates: they could move the cursor or reverse text. */
const STEERING = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu

/** Text from outside as one line that is safe to print. */
export function harmless(text: string): string {
  return text.replace(STEERING, '\ufffd')
}

/** `1 day`, `2 days`: a count with its noun; `more` where the plural is not the noun with an s. */
export function counted(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`
}

/** A size in MB, or in kB below one. */
export function bytesText(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** How prominent a text is. */
export type Tone = 'alarm' | 'strong' | 'soft' | 'plain'

const CODES: Record<Tone, string | null> = { alarm: '1;31', strong: '33', soft: '2', plain: null }

/** Colours text by its tone. */
export type Paint = (tone: Tone, text: string) => string

/** Adds colours, or returns the text unchanged where `colour` is false. */
export function painter(colour: boolean): Paint {
  return (tone, text) => {
    const code = CODES[tone]
    return colour && code !== null ? `\u001b[${code}m${text}\u001b[0m` : text
  }
}

/** Whether to use colours: on a terminal, unless NO_COLOR is set. */
export function wantsColour(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  return isTerminal && (env.NO_COLOR ?? '') === ''
}
