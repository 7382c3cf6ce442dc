/**
 * Builds the console's page: strips types and comments, joins the modules into a few files, compresses each and prints the
 * whole as JSON, or writes it to the file that is named. It runs in a process of its own, which gives the memory of the
 * stripping back when it ends.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { type BuiltPage, CONSOLE_PATH } from './built-page.ts'
import { bundle, MAIN } from './bundle.ts'

/** The repository, or what holds `src` and `clients` in an image. */
const ROOT = join(import.meta.dirname, '../..')
const PAGE = 'src/console/page'
const ENTRY = `${PAGE}/main.ts`
/** The packages that the page may import. */
const PACKAGES: readonly string[] = ['preact', 'preact/hooks']
const SCRIPT_TYPE = 'text/javascript; charset=utf-8'
/** How the shell says that the command line is called: a checkout has it by npx. */
const COMMAND = '<meta name="command" content="npx --no-install bridge" />'
const STYLE = 'style.css'
const STYLE_TYPE = 'text/css; charset=utf-8'
const STYLE_LINK = /[ \t]*<link rel="stylesheet" href="\.\/([^"]+)" \/>\n/g
const ENTRY_SCRIPT = '<script type="module" src="./main.ts"></script>'
/** Comments that begin a line; `test/architecture.test.ts` keeps such lines out of texts. */
const BLOCK_COMMENT = /^[ \t]*\/\*[\s\S]*?\*\/[ \t]*$/gm
const LINE_COMMENT = /^[ \t]*\/\/.*$/gm
const HASH_CHARACTERS = 16
/** Stronger ones take five times as long for six percent. */
const BROTLI_QUALITY = 9

/** A file as it is served, before compression. */
interface Source {
  type: string
  text: string
}

/** Builds the page. @throws Error where it imports what it may not load */
export function buildPage(): BuiltPage {
  const index = read(`${PAGE}/index.html`)
  const styles = [...index.matchAll(STYLE_LINK)].map(([, name = '']) => read(`${PAGE}/${name}`))
  const files = new Map<string, Source>([[STYLE, { type: STYLE_TYPE, text: uncommented(styles.join('\n')) }]])
  for (const [name, text] of bundle(ENTRY, { read: scriptOf, resolve: targetOf })) {
    files.set(name, { type: SCRIPT_TYPE, text })
  }
  const hash = hashOf(files)
  return {
    hash,
    shell: shellOf(index, `${CONSOLE_PATH}/assets/${hash}`),
    screens: folders(`${PAGE}/screens`),
    files: Object.fromEntries(
      [...files].map(([path, { type, text }]) => [path, { type, ...compressed(text) }]),
    ),
  }
}

/** The JavaScript of a module, without comments that begin a line. */
function scriptOf(path: string): string {
  if (!PACKAGES.includes(path)) return uncommented(stripTypeScriptTypes(read(path)))
  const text = readFileSync(fileURLToPath(import.meta.resolve(path)), 'utf8')
  return text.replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n')
}

/** Comments and blank lines are left out, each line that stays is as it was. */
function uncommented(text: string): string {
  return text
    .replaceAll(BLOCK_COMMENT, '')
    .replaceAll(LINE_COMMENT, '')
    .replaceAll(/[^\S\n]*\n(?:[^\S\n]*\n)*/g, '\n')
}

/** The path of an imported module; a package is its own path. */
function targetOf(path: string, name: string): string {
  if (PACKAGES.includes(name)) return name
  const target = posix.join(posix.dirname(path), name)
  if (name.startsWith('.') && existsSync(join(ROOT, target))) return target
  throw new Error(`${path} imports ${name}, which the console's page cannot load`)
}

/** Names of the folders in a folder; none where it does not exist. */
function folders(path: string): string[] {
  const place = join(ROOT, path)
  if (!existsSync(place)) return []
  return readdirSync(place, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}

/** `index.html` with one stylesheet and one script in the place of those of the sources. */
function shellOf(index: string, assets: string): string {
  if (!index.includes(ENTRY_SCRIPT)) throw new Error(`${PAGE}/index.html lacks ${ENTRY_SCRIPT}`)
  const style = `    <link rel="stylesheet" href="${assets}/${STYLE}" />\n`
  return index
    .replaceAll(STYLE_LINK, '')
    .replace('  </head>', `${style}  </head>`)
    .replace(ENTRY_SCRIPT, `<script type="module" src="${assets}/${MAIN}"></script>`)
}

function hashOf(files: ReadonlyMap<string, Source>): string {
  const hash = createHash('sha256')
  for (const [path, { text }] of [...files].sort()) hash.update(`${path}\0${text}\0`)
  return hash.digest('hex').slice(0, HASH_CHARACTERS)
}

function compressed(text: string): { brotli: string; gzip: string } {
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  return {
    brotli: brotliCompressSync(text, { params }).toString('base64'),
    gzip: gzipSync(text, { level: constants.Z_BEST_COMPRESSION }).toString('base64'),
  }
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** The page of a release or an image, where the command line is installed as `bridge`. @throws Error where the shell names none */
function released(page: BuiltPage): BuiltPage {
  if (!page.shell.includes(COMMAND)) throw new Error(`${PAGE}/index.html lacks ${COMMAND}`)
  return { ...page, shell: page.shell.replace(COMMAND, '<meta name="command" content="bridge" />') }
}

if (import.meta.main) {
  const [, , file] = process.argv
  if (file === undefined) process.stdout.write(JSON.stringify(buildPage()))
  else writeFileSync(file, JSON.stringify(released(buildPage())))
}
