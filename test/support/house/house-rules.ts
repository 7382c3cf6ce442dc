/**
 * Checks the structure of the source by rules, each a function from files to violations. The table of levels is in
 * `floors.ts`, that of packages here. `test/architecture.test.ts` shows each rule failing and passing.
 */
import type { SourceFile, SyntaxNode } from './imports.ts'

/** One sentence per violation, beginning with the file's path. */
export type Breach = string

/** Where each package may be imported. A package that is not here has no owner yet. */
const owners: Readonly<Record<string, RegExp>> = {
  kafkajs: /^src\/log-kafka\//,
  'kafkajs/src':
    /^src\/log-kafka\/client\/(kafkajs-internals\.ts|partition-protocol\.ts|kafkajs-patches\.ts|kafkajs-types\.d\.ts)$/,
  'node:sqlite': /^src\/storage\/database\.ts$/,
  express: /^src\/http\/|(^|[/-])router\.ts$/,
  ws: /^src\/(streams|cli)\//,
  undici: /^src\/(upstream|webhooks)\//,
  'prom-client': /^src\/obs\//,
  pino: /^src\/obs\//,
  '@opentelemetry/api': /^src\/obs\/otlp\.ts$/,
  '@opentelemetry/sdk-trace': /^src\/obs\/otlp\.ts$/,
  '@opentelemetry/exporter-trace-otlp-http': /^src\/obs\/otlp\.ts$/,
  '@opentelemetry/resources': /^src\/obs\/otlp\.ts$/,
  zod: /^src\/(settings|sandbox|http|api|console|webhooks|registry|audit|streams|upstream)\/|^src\/(log-kafka\/(channels|group\/leader-assigner)|ingest\/status-messages)\.ts$/,
  'node:timers': /^src\/lifecycle\/clock\.ts$/,
  'node:timers/promises': /^src\/lifecycle\/clock\.ts$/,
}

/** Each package is imported by its owners only, and has some. */
export function strayPackages(files: SourceFile[]): Breach[] {
  return files.flatMap(({ path, imports }) =>
    imports.flatMap(({ specifier, target }) => {
      if (target !== null) return []
      const owner = owners[specifier] ?? owners[specifier.split('/').slice(0, 2).join('/')]
      if (owner === undefined && specifier.startsWith('node:')) return []
      if (owner === undefined) return [`${path}: nobody owns the package ${specifier}`]
      return owner.test(path) ? [] : [`${path}: ${specifier} may not be imported here`]
    }),
  )
}

/** No file imports itself through others, not even for a type. Each cycle is reported once. */
export function importCycles(files: SourceFile[]): Breach[] {
  const targets = new Map(
    files.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])]),
  )
  const done = new Set<string>()
  const breaches: Breach[] = []
  const visit = (path: string, trail: string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) breaches.push([...trail.slice(at), path].join(' → '))
    if (at >= 0 || done.has(path)) return
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const { path } of files) visit(path, [])
  return breaches
}

/** No file grows above the ceiling, except those listed with their reason; the list holds no one it need not. */
export function tallFiles(
  files: SourceFile[],
  ceiling: number,
  exceptions: Record<string, string>,
): Breach[] {
  const tall = files.filter(({ text }) => text.trimEnd().split('\n').length > ceiling).map(({ path }) => path)
  return [
    ...tall
      .filter((path) => exceptions[path] === undefined)
      .map((path) => `${path}: more than ${ceiling} lines`),
    ...Object.keys(exceptions)
      .filter((path) => !tall.includes(path))
      .map((path) => `${path}: needs no exception from the ceiling`),
  ]
}

/** Most lines that a function may have: more do not fit on two screens. */
const LONGEST_FUNCTION = 120

/** No function, method or arrow function is longer than two screens. */
export function longFunctions(files: SourceFile[], most = LONGEST_FUNCTION): Breach[] {
  return files.flatMap(({ path, text, nodes }) =>
    nodes.flatMap((node) => {
      if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return []
      const lines = text.slice(node.start, node.end).split('\n').length
      if (lines <= most) return []
      const name = (node.id as { name?: string } | null | undefined)?.name ?? 'a function'
      return [`${path}: ${name} has ${lines} lines, more than ${most}`]
    }),
  )
}

/** No folder is a drawer: `most` files at the most, those of inner folders not counted. */
export function fullFolders(paths: string[], most: number): Breach[] {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const folder = path.slice(0, path.lastIndexOf('/'))
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts].flatMap(([folder, count]) =>
    count > most ? [`${folder}: ${count} files, more than ${most}`] : [],
  )
}

/** A name has one home: nothing is exported by default, nothing is handed on from another module. */
export function homelessExports(files: SourceFile[]): Breach[] {
  return files.flatMap(({ path, exports }) =>
    exports.flatMap(({ names, passesOn }) => {
      if (passesOn) return [`${path}: hands on ${names.join(', ')} from another module`]
      return names.includes('default') ? [`${path}: has a default export`] : []
    }),
  )
}

/** A name, of a value or a type, is exported by one file only, so that a search for it ends at one meaning. */
export function sharedNames(files: SourceFile[]): Breach[] {
  const homes = new Map<string, Set<string>>()
  for (const { path, exports } of files)
    for (const name of exports.flatMap(({ names }) => names))
      homes.set(name, (homes.get(name) ?? new Set()).add(path))
  return [...homes].flatMap(([name, paths]) =>
    paths.size > 1 ? [`${[...paths].join(', ')}: each exports ${name}`] : [],
  )
}

/** Every file begins with a header comment. Only a shebang line may precede it. */
export function missingHeaders(files: SourceFile[]): Breach[] {
  return files
    .filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text))
    .map(({ path }) => `${path}: has no header`)
}

/**
 * Every exported name is documented: by a comment of its own, by that of the lines it stands directly below, or, for
 * a type, by comments on its members.
 */
export function undocumentedExports(files: SourceFile[]): Breach[] {
  return files.flatMap(({ path, text, exports, docComments }) =>
    exports.flatMap(({ names, start, end, isType }) => {
      const paragraph = Math.max(0, text.lastIndexOf('\n\n', start))
      const above = docComments.some((comment) => comment.end <= start && comment.start >= paragraph)
      const inside = isType && docComments.some((comment) => comment.start > start && comment.end < end)
      return above || inside ? [] : [`${path}: ${names.join(', ')} has no comment`]
    }),
  )
}

/** The machine's clock, timers and randomness are used in one file only. */
export function machineTime(files: SourceFile[], owner: string): Breach[] {
  return files
    .filter(({ path }) => path !== owner)
    .flatMap(({ path, nodes }) => nodes.flatMap(machineCall).map((call) => `${path}: uses ${call}`))
}

const TIMERS = ['setTimeout', 'setInterval']
const CALLS = ['Date.now', 'Math.random', 'performance.now', ...TIMERS.map((timer) => `globalThis.${timer}`)]

function machineCall(node: SyntaxNode): string[] {
  const nameOf = (field: unknown): string => String((field as { name?: unknown } | undefined)?.name ?? '')
  if (node.type === 'MemberExpression') {
    const call = `${nameOf(node.object)}.${nameOf(node.property)}`
    return CALLS.includes(call) ? [call] : []
  }
  if (node.type === 'CallExpression') {
    const callee = nameOf(node.callee)
    return TIMERS.includes(callee) || callee === 'Date' ? [callee] : []
  }
  const clock = node.type === 'NewExpression' && nameOf(node.callee) === 'Date'
  return clock && (node.arguments as unknown[]).length === 0 ? ['new Date()'] : []
}

/**
 * No value becomes text by `String`, which throws for an object of JSON without a primitive form, such as `{"toString":1}`.
 * The compiler refuses `toString()` of a value that could be one; `textOf` takes any.
 */
export function textCasts(files: SourceFile[]): Breach[] {
  return files.flatMap(({ path, nodes }) => nodes.filter(isTextCast).map(() => `${path}: uses String(value)`))
}

function isTextCast(node: SyntaxNode): boolean {
  const isString = (field: unknown): boolean => (field as { name?: unknown } | undefined)?.name === 'String'
  const calls = node.type === 'CallExpression' || node.type === 'NewExpression'
  return calls && (isString(node.callee) || (node.arguments as unknown[]).some(isString))
}

/** A file of the repository that people read. */
export interface TextFile {
  path: string
  text: string
}

/**
 * Hosts that anybody may name: this machine, those reserved for examples, the services of docker-compose.yml, and the
 * homes of licence and standards.
 */
const OPEN_HOSTS =
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1?\]|0\.0\.0\.0|host|[a-z]|sandbox|prometheus|(.+\.)?example(\.com|\.org|\.net)?|.+\.(invalid|test|localhost|example\.evil)|(www\.)?apache\.org|.*[$…{<].*)$/i

/** No URL of a real service: of the provider, a registry or anyone else. */
export function namedHosts(files: TextFile[]): Breach[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(/\b(?:https?|wss?):\/\/(?:[^\s/@'"`]*@)?(\[[0-9a-f:]*\]|[^\s/:?#'"`)<>\\|,;]+)/gi)]
      .map(([, host = '']) => host)
      .filter((host) => host !== '' && !OPEN_HOSTS.test(host))
      .map((host) => `${path}: names the host ${host}`),
  )
}

/** No path that exists on one machine only. */
export function machinePaths(files: TextFile[]): Breach[] {
  const machines = ['work', 'farm', 'root', 'home', 'Users'].join('|')
  const path = new RegExp(`(^|[^a-zA-Z0-9.})\\]*_-])/(${machines})/[^\\s'"\`]*`, 'm')
  return files.flatMap((file) => {
    const found = path.exec(file.text)
    return found === null ? [] : [`${file.path}: has the path ${found[0].trim()}`]
  })
}
