/**
 * Shows text of strangers (headlines, names, answers of receivers): as a text node, set apart in direction, and with every
 * character that is invisible, or moves others about, replaced by a visible one.
 */
import { type ComponentChildren, h } from 'preact'

/**
 * Control characters, marks of direction, line separators, characters without width, tags, variation selectors and halves of
 * characters. The joiners of emoji and of some scripts are among them: seeing them matters more here than drawing them.
 */
const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\u2800]/gu
/** More marks than this on one letter climb over other lines. */
const PILED = /(\p{M}{3})\p{M}+/gu
const CONTROL_PICTURES = 0x2400
const LAST_PICTURED = 0x20
const DELETE = 0x7f

/** The text with what cannot be seen made visible, on one line. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, pictureOf).replace(PILED, '$1\u2026')
}

/** The same, with line breaks and tabs left as they are: for bodies of answers. */
export function visibleLines(text: string): string {
  return text
    .split(/(\r\n|[\n\t])/)
    .map((part) => (/^(\r\n|[\n\t])$/.test(part) ? part : visibleText(part)))
    .join('')
}

/** Text of a value that may be anything: the bridge passes on members that upstream sent. */
export function textOfUnknown(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** A stranger's text. Lengths are cut by the style sheet, so `title` has all of it. */
export function Foreign({ text, class: name }: { text: string; class?: string }): ComponentChildren {
  const shown = visibleText(text)
  return h('bdi', { class: name ?? 'foreign', title: shown }, shown)
}

function pictureOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code < LAST_PICTURED) return String.fromCodePoint(CONTROL_PICTURES + code)
  if (code === DELETE) return '\u2421'
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`
}
