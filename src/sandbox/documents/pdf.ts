/**
 * Renders an announcement as a PDF of plain text lines (ISO 32000-1, version 1.4). The file is uncompressed, so that a
 * test can search its text. Characters outside Latin-1 become question marks.
 */
import type { AnnouncementText } from './announcement.ts'

/** Characters per line at 11 points on A4. */
const LINE_LENGTH = 84
const LINES_A_PAGE = 50
/** Object numbers present in every file; the pages follow, each with its content. */
const CATALOG = 1
const PAGES = 2
const FONT = 3
const FIRST_PAGE = 4

/** Renders the announcement to the bytes of a PDF file. */
export function pdf({ title, facts, sections }: AnnouncementText): Buffer {
  const lines = [
    ...wrapped(title),
    '',
    ...facts.flatMap(([label, value]) => wrapped(`${label}: ${value}`)),
    ...sections.flatMap(({ heading, paragraphs }) => [
      '',
      heading,
      ...paragraphs.flatMap((text) => ['', ...wrapped(text)]),
    ]),
  ]
  const pages = Array.from({ length: Math.ceil(lines.length / LINES_A_PAGE) }, (_, page) =>
    lines.slice(page * LINES_A_PAGE, (page + 1) * LINES_A_PAGE),
  )
  const kids = pages.map((_, page) => `${FIRST_PAGE + page * 2} 0 R`).join(' ')
  return file([
    `<< /Type /Catalog /Pages ${PAGES} 0 R >>`,
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    ...pages.flatMap((shown, page) => [pageObject(FIRST_PAGE + page * 2 + 1), contentObject(shown)]),
  ])
}

function pageObject(content: number): string {
  const resources = `<< /Font << /F1 ${FONT} 0 R >> >>`
  return `<< /Type /Page /Parent ${PAGES} 0 R /MediaBox [0 0 595 842] /Resources ${resources} /Contents ${content} 0 R >>`
}

function contentObject(lines: readonly string[]): string {
  const shown = lines.map((line) => `(${literal(line)}) Tj T*`).join('\n')
  const stream = `BT\n/F1 11 Tf\n14 TL\n56 780 Td\n${shown}\nET`
  return `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`
}

/** Writes the objects, numbered from 1, the table of their byte offsets, and the trailer. Every character is one byte. */
function file(objects: readonly string[]): Buffer {
  let text = '%PDF-1.4\n%\u00e2\u00e3\u00cf\u00d3\n'
  const places = objects.map((object, index) => {
    const place = text.length
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
    return place
  })
  const entries = places.map((place) => `${place.toString().padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${entries}`
  const trailer = `trailer\n<< /Size ${size} /Root ${CATALOG} 0 R >>\nstartxref\n${text.length}\n%%EOF\n`
  return Buffer.from(`${text}${table}${trailer}`, 'latin1')
}

function literal(line: string): string {
  return line.replace(/[^\x20-\x7e\u00a0-\u00ff]/gu, '?').replace(/[\\()]/g, (character) => `\\${character}`)
}

/** Wraps words into lines; a word longer than a line is split. */
function wrapped(text: string): string[] {
  const words = text.split(/\s+/).flatMap((word) => word.match(/.{1,84}/gsu) ?? [])
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > LINE_LENGTH) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
