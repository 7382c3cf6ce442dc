/**
 * Renders an announcement as a styled HTML page and as semantic HTML. Semantic HTML has the same text without
 * attributes, styles or wrapper elements (specification §2.7).
 */
import type { AnnouncementText } from './announcement.ts'

/** Renders the styled page. */
export function htmlPage({ title, facts, sections }: AnnouncementText): string {
  const rows = facts.map(
    ([label, value]) =>
      `<tr><th class="label" scope="row"><span>${escaped(label)}</span></th><td class="value">${escaped(value)}</td></tr>`,
  )
  const parts = sections.map(
    ({ heading, paragraphs }) =>
      `<div class="section"><div class="inner"><h2 style="margin-top:2em">${escaped(heading)}</h2>` +
      `${paragraphs.map((text) => `<p class="text"><span>${escaped(text)}</span></p>`).join('')}</div></div>`,
  )
  return [
    '<!doctype html>',
    '<html lang="en-GB"><head><meta charset="utf-8">',
    '<style>body{font-family:serif}.label{text-align:left;padding-right:1em}.inner{max-width:40em}</style>',
    `</head><body><div class="page"><div class="head"><h1 style="color:#123">${escaped(title)}</h1></div>`,
    `<table class="facts" cellpadding="2"><tbody>${rows.join('')}</tbody></table>`,
    `${parts.join('')}</div></body></html>`,
  ].join('')
}

/** Renders the same text without attributes and wrapper elements. Quotes and brackets of the text are escaped. */
export function semanticHtml(text: AnnouncementText): string {
  const body = htmlPage(text).replace(/^.*<body>/s, '')
  return `<article>${body.replace(/<\/?(div|span|tbody|body|html)\b[^>]*>/g, '').replace(/ [\w-]+="[^"]*"/g, '')}</article>`
}

function escaped(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character)
}
