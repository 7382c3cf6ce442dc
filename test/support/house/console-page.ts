/**
 * Checks the code of the console that runs in browsers, `src/console/page/`: what it may import, and that no text becomes
 * markup, style or script. `test/architecture.test.ts` shows each rule failing and passing.
 */
import type { Breach } from './house-rules.ts'
import type { SourceFile } from './imports.ts'

/** The folder of that code. */
export const PAGE_FOLDER = 'src/console/page/'
/** The one file of it that asks the browser for time. */
export const PAGE_CLOCK = `${PAGE_FOLDER}shell/clock.ts`

const PACKAGES = ['preact', 'preact/hooks']
const CLIENT = 'clients/typescript/src/'
/** What takes HTML, and what would be refused by the page's policy anyway: a style as text. */
const MARKUP =
  /\b(dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|srcdoc|createContextualFragment)\b/g
const WRITES = /\bdocument\s*\.\s*write(ln)?\b|\bstyle\s*:\s*['"`]|\bnew\s+Function\b|\beval\s*\(/g

/** The page imports itself, Preact, the published client and, of the rest of `src`, types only. */
export function strayPageImports(files: SourceFile[]): Breach[] {
  return files.flatMap(({ path, imports }) =>
    imports.flatMap(({ specifier, target, isType }) => {
      if (target === null) {
        return PACKAGES.includes(specifier) ? [] : [`${path}: the page may not import ${specifier}`]
      }
      if (target.startsWith(PAGE_FOLDER) || target.startsWith(CLIENT)) return []
      if (target.startsWith('src/')) {
        return isType ? [] : [`${path}: of ${target} the page may import types only, with \`import type\``]
      }
      return [`${path}: the page may not import ${target}`]
    }),
  )
}

/** What the build takes for a comment, an import or an export where it begins a line. */
const STATEMENT = /^[ \t]*(\/\/|\/\*|import\b|export\b).*/m

/** No text of several lines has one that the build of the page would take for code of its own. */
export function misreadTexts(files: SourceFile[]): Breach[] {
  return files.flatMap(({ path, text, nodes }) =>
    nodes.flatMap(({ type, start, end }) => {
      if (type !== 'TemplateLiteral') return []
      const [, ...lines] = text.slice(start, end).split('\n')
      const [found] = STATEMENT.exec(lines.join('\n')) ?? []
      return found === undefined ? [] : [`${path}: a text has the line ${found.trim()}`]
    }),
  )
}

/** Text of strangers stays text: the page names nothing that makes markup, style or code of it. */
export function madeMarkup(files: SourceFile[]): Breach[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(MARKUP), ...text.matchAll(WRITES)].map(([found]) => `${path}: uses ${found.trim()}`),
  )
}
