/** Shows JSON as text, coloured by elements: keys, texts, and the rest. */
import { type ComponentChildren, h } from 'preact'
import { visibleLines } from './text.ts'

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*|\btrue\b|\bfalse\b|\bnull\b)/g
/** Colouring more than this would hold the page. */
const LONGEST_COLOURED = 200_000

/** JSON text, exactly as given but for characters that cannot be seen. */
export function JsonView({ text, label }: { text: string; label: string }): ComponentChildren {
  const parts = text.length > LONGEST_COLOURED ? [visibleLines(text)] : coloured(text)
  return h('pre', { class: 'json', tabIndex: 0, role: 'region', 'aria-label': label }, h('code', null, parts))
}

function coloured(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  let at = 0
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon] = match
    parts.push(text.slice(at, match.index))
    const name = string === undefined ? 'json-value' : colon === undefined ? 'json-text' : 'json-key'
    parts.push(h('span', { class: name }, visibleLines(string ?? whole)), colon ?? '')
    at = match.index + whole.length
  }
  return [...parts, text.slice(at)]
}

/** A value as JSON on several lines. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? ''
}
