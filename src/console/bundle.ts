/**
 * Joins the modules of the page into a few files, so that a browser loads kilobytes instead of a hundred files: one with
 * all that the entry imports, one for each module that is imported later (`import('…')`), and one for each set of modules
 * that several of those share. Each module becomes a function that runs once and returns its exports.
 *
 * What little several share goes into the first file: a request costs more than a kilobyte.
 *
 * It reads the forms that the house writes, and the builds of Preact: named imports and exports, at the beginning of a
 * line. Anything else is an error of the build.
 */
import { posix } from 'node:path'

/** Reads modules, whose types are stripped already. */
export interface ModuleReader {
  /** The JavaScript of a module. */
  read(path: string): string
  /** The path of a module that another one imports by this name. @throws Error where there is none */
  resolve(from: string, name: string): string
}

/** One module, and what it imports at once and later. */
interface Module {
  /** Its place in the order in which modules run. */
  id: number
  path: string
  code: string
  now: readonly string[]
  later: readonly string[]
}

/** Shared code of fewer characters joins the first file. */
const SMALL = 4096

/** The file of the entry and all that it imports. */
export const MAIN = 'main.js'

const IMPORT = /^import\s*(?:\{([^}]*)\}\s*from\s*|\*\s*as\s+([\w$]+)\s+from\s*|)["']([^"'\n]+)["'];?/gm
const LATER = /\bimport\(\s*["']([^"'\n]+)["']\s*\)/g
const EXPORTED = /^export\s+((?:const|class|function\*?|async\s+function\*?)\s+([\w$]+))/gm
const EXPORT_LIST = /(^|[;}])export\s*\{([^}]*)\}(?!\s*from\b);?/gm
const LEFT_OVER = /(?:^|[;}])(?:import\b(?!\s*\()|export\b).*/m

/** The files by name; `MAIN` is the one to load. @throws Error for a form of import or export that it does not know */
export function bundle(entry: string, reader: ModuleReader): Map<string, string> {
  const modules = readModules(entry, reader)
  const files = filesOf(entry, modules)
  const byFile = Map.groupBy(modules.values(), ({ path }) => files.get(path) ?? MAIN)
  return new Map(
    [...byFile].map(([file, own]) => [file, fileText(file, own, { modules, files, reader })] as const),
  )
}

/** Every module, those that another one needs before it. */
function readModules(entry: string, { read, resolve }: ModuleReader): Map<string, Module> {
  const modules = new Map<string, Module>()
  const begun = new Set<string>()
  const visit = (path: string): void => {
    if (begun.has(path)) return
    begun.add(path)
    const code = read(path)
    const named = (pattern: RegExp, group: number): string[] =>
      [...code.matchAll(pattern)].map((match) => resolve(path, match[group] ?? ''))
    const [now, later] = [named(IMPORT, 3), named(LATER, 1)]
    for (const one of now) visit(one)
    modules.set(path, { id: modules.size, path, code, now, later })
    for (const one of later) visit(one)
  }
  visit(entry)
  return modules
}

/** The file of each module: by which of the modules that are imported later need it. */
function filesOf(entry: string, modules: ReadonlyMap<string, Module>): Map<string, string> {
  const roots = [...new Set([...modules.values()].flatMap(({ later }) => later))]
  const atOnce = reachOf(entry, modules)
  const reaches = roots.map((root) => [root, reachOf(root, modules)] as const)
  const later = [...modules.values()].filter(({ path }) => !atOnce.has(path))
  const groups = Map.groupBy(later, ({ path }) =>
    reaches.flatMap(([root, reach]) => (reach.has(path) ? [root] : [])).join(),
  )
  const files = new Map([...atOnce].map((path) => [path, MAIN]))
  for (const [at, [needing, group]] of [...groups].entries()) {
    const isShared = !roots.includes(needing)
    const size = group.reduce((sum, { code }) => sum + code.length, 0)
    const stem = isShared ? 'shared' : posix.basename(needing).replace(/\.\w+$/, '')
    for (const { path, now } of group) {
      // The first file imports no other one.
      const fits = isShared && size < SMALL && now.every((one) => files.get(one) === MAIN)
      files.set(path, fits ? MAIN : `${stem}-${at + 1}.js`)
    }
  }
  return files
}

/** A module and all that it imports at once. */
function reachOf(path: string, modules: ReadonlyMap<string, Module>, reach = new Set<string>()): Set<string> {
  if (reach.has(path)) return reach
  reach.add(path)
  for (const one of modules.get(path)?.now ?? []) reachOf(one, modules, reach)
  return reach
}

/** What the text of a file is made from. */
interface Bundled {
  modules: ReadonlyMap<string, Module>
  files: ReadonlyMap<string, string>
  reader: ModuleReader
}

function fileText(file: string, own: readonly Module[], { modules, files, reader }: Bundled): string {
  const others: string[] = []
  const place = (path: string): { file: string; id: number } => {
    return { file: files.get(path) ?? MAIN, id: modules.get(path)?.id ?? -1 }
  }
  /** The exports of a module that has run. */
  const exportsOf = (path: string): string => {
    const { file: home, id } = place(path)
    if (home === file) return `$m[${id}]`
    if (!others.includes(home)) others.push(home)
    return `$f${others.indexOf(home)}[${id}]`
  }
  const exportsLater = (path: string): string => {
    const { file: home, id } = place(path)
    if (home === MAIN || home === file) return `Promise.resolve(${exportsOf(path)})`
    return `import('./${home}').then(({ $m }) => $m[${id}])`
  }
  const texts = own.map(({ id, path, code }) => {
    const body = code
      .replaceAll(IMPORT, (_whole, list: string | undefined, all: string | undefined, name: string) => {
        const from = exportsOf(reader.resolve(path, name))
        if (all !== undefined) return `const ${all} = ${from};`
        return list === undefined ? '' : `const { ${pairs(list, path).map(renamed).join(', ')} } = ${from};`
      })
      .replaceAll(LATER, (_whole, name: string) => exportsLater(reader.resolve(path, name)))
    const { text, exported } = withoutExports(body, path)
    return `// ${path}\n$m[${id}] = (() => {\n${text}\nreturn { ${exported.join(', ')} }\n})()\n`
  })
  const imports = others.map((other, at) => `import { $m as $f${at} } from './${other}'\n`)
  return `${imports.join('')}const $m = {}\n${texts.join('')}export { $m }\n`
}

/** The code without the word `export`, and the members of an object of its exports. */
function withoutExports(code: string, path: string): { text: string; exported: string[] } {
  const exported: string[] = []
  const text = code
    .replaceAll(EXPORTED, (_whole, declaration: string, name: string) => {
      exported.push(name)
      return declaration
    })
    .replaceAll(EXPORT_LIST, (_whole, before: string, list: string) => {
      for (const [local, name] of pairs(list, path)) exported.push(renamed([name, local]))
      return before
    })
  const [rest] = LEFT_OVER.exec(text) ?? []
  if (rest !== undefined) throw new Error(`${path}: the console cannot bundle \`${rest.slice(0, 80)}\``)
  return { text, exported }
}

/** The names of a list in braces: each as it is called there, and as it is called here. */
function pairs(list: string, path: string): [from: string, to: string][] {
  return list.split(',').flatMap((part): [string, string][] => {
    const words = part.trim().split(/\s+as\s+/)
    const [from = '', to = from] = words
    if (from === '') return []
    if (from === 'default' || to === 'default') throw new Error(`${path}: the console bundles no default`)
    return [[from, to]]
  })
}

/** A member of an object or of its pattern. */
function renamed([from, to]: readonly [string, string]): string {
  return from === to ? from : `${from}: ${to}`
}
