/**
 * Checks the pages of the docs, each rule a function from pages to violations. It reads Markdown as far as links,
 * commands and named tests go. `test/docs.test.ts` shows each rule failing and passing.
 */
import { posix } from 'node:path'
import type { Breach, TextFile } from './house-rules.ts'

/** Markdown pages among the files. */
export function pagesOf(files: TextFile[]): TextFile[] {
  return files.filter(({ path }) => path.endsWith('.md'))
}

/** Every relative link leads to a file or folder, and to a heading where it names one. */
export function brokenLinks(files: TextFile[]): Breach[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const folders = new Set(files.flatMap(({ path }) => parents(path)))
  return pagesOf(files).flatMap((page) =>
    linksOf(page.text).flatMap((link) => {
      if (/^[a-z]+:/.test(link)) return []
      const [file = '', heading] = link.split('#')
      const target = file === '' ? page.path : posix.join(posix.dirname(page.path), file).replace(/\/$/, '')
      const text = texts.get(target)
      if (text === undefined) return folders.has(target) ? [] : [`${page.path}: ${link} leads nowhere`]
      const found = heading === undefined || headingsOf(text).includes(heading)
      return found ? [] : [`${page.path}: ${link} names no heading`]
    }),
  )
}

/** Every npm script that a page tells people to run exists. */
export function unknownScripts(pages: TextFile[], scripts: readonly string[]): Breach[] {
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)]
      .map(([, run, short]) => run ?? short ?? '')
      .filter((script) => !scripts.includes(script))
      .map((script) => `${path}: there is no script ${script}`),
  )
}

/** Every name is on the page, as a word of its own. */
export function namesMissing(names: Iterable<string>, page: TextFile): Breach[] {
  return [...names]
    .filter((name) => !new RegExp(`(?<![A-Za-z0-9_])${name}(?![A-Za-z0-9_])`).test(page.text))
    .map((name) => `${page.path}: ${name} is missing`)
}

/** Every test that a page names as `path`: "title" has that title in that file. */
export function testsMissing(page: TextFile, files: TextFile[]): Breach[] {
  const named = [...page.text.matchAll(/`(test\/[^`]+)`: "([^"]+)"/g)]
  return named
    .filter(([, path, title = '']) => !files.some((file) => file.path === path && quotes(file.text, title)))
    .map(([, path, title]) => `${page.path}: ${path} has no test "${title}"`)
}

/** Every numbered rule of a checklist says for the server and for the client what proves it: a named test, or why none. */
export function unprovenRules(page: TextFile): Breach[] {
  const rules = page.text.split(/^(?=\d+\. )/m).slice(1)
  return rules.flatMap((rule) => {
    const [title = ''] = rule.split('\n', 1)
    return ['server', 'client'].flatMap((side) => {
      const proof = new RegExp(`^ +- ${side}: (.+)$`, 'm').exec(rule)?.[1] ?? ''
      const proven = /`test\/[^`]+`: "[^"]+"/.test(proof) || /^not asked: .{20,}$/.test(proof)
      return proven ? [] : [`${page.path}: "${title}" has no proof for the ${side}`]
    })
  })
}

/** Every numbered finding names a test, says why there is none, or is open. */
export function untestedFindings(page: TextFile): Breach[] {
  const findings = page.text.split(/^(?=\d+\. |## )/m).filter((part) => /^\d/.test(part))
  return findings.flatMap((finding) => {
    const isSettled = /^ +- (`test\/[^`]+`: "[^"]+"|not tested: .{20,}|open: .{5,})/m.test(finding)
    return isSettled ? [] : [`${page.path}: "${finding.split('\n', 1)[0]}" has neither a test nor a reason`]
  })
}

/** The `BRIDGE_…` names in these files, whole ones only. */
export function settingNames(files: TextFile[]): Set<string> {
  return new Set(files.flatMap(({ text }) => text.match(/\bBRIDGE_[A-Z0-9]+(?:_[A-Z0-9]+)*\b(?!_)/g) ?? []))
}

/** The code words in the first cells of the table under that heading, in their order. */
export function namesInTable(page: string, heading: string): string[] {
  const [, section = ''] = page.split(`## ${heading}\n`)
  const rows = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  )
}

export function quotes(text: string, title: string): boolean {
  return ["'", '"', '`'].some((quote) => text.includes(`${quote}${title}${quote}`))
}

function linksOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
}

function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{Letter}\p{Number}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-'),
  )
}

function parents(path: string): string[] {
  const folder = posix.dirname(path)
  return folder === '.' ? ['.'] : [folder, ...parents(folder)]
}

/** Paragraphs, list items and table cells of prose: code, headings and links' addresses left out. */
function proseOf(text: string): string[] {
  return text
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^#+ .*$/gm, '\n')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=\|)/)
    .map((part) => part.replace(/\]\([^)]*\)/g, ']').trim())
    .filter((part) => part !== '')
}

function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{Letter}\p{Number}]/u.test(word)).length
}

/** No paragraph, list item or table row is longer than `most` words. */
export function longParagraphs(pages: TextFile[], most: number): Breach[] {
  return pages.flatMap(({ path, text }) =>
    proseOf(text)
      .filter((part) => wordsIn(part) > most)
      .map((part) => `${path}: ${wordsIn(part)} words in "${part.slice(0, 60)}…"`),
  )
}

/** No page has more than `most` words outside of code. */
export function longPages(pages: TextFile[], most: number): Breach[] {
  return pages.flatMap(({ path, text }) => {
    const words = proseOf(text).reduce((sum, part) => sum + wordsIn(part), 0)
    return words > most ? [`${path}: ${words} words, more than ${most}`] : []
  })
}
