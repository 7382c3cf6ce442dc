/** Reads the imports and exports of a source file from its syntax tree. */
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { parseSync } from 'oxc-parser'

/** One node of the syntax tree, as far as the rules look at it. */
export interface SyntaxNode {
  type: string
  start: number
  end: number
  [field: string]: unknown
}

export interface Import {
  /** As written in the source. */
  specifier: string
  /** The file it names, from the root of the repository; null for a package. */
  target: string | null
  /** True where nothing of it is left when the types are stripped. */
  isType: boolean
}

export interface Export {
  /** The imported names, `default` for the default export, `*` for all of another module. */
  names: string[]
  start: number
  end: number
  /** True for an interface or a type. */
  isType: boolean
  /** True for a re-export of another module. */
  passesOn: boolean
}

export interface SourceFile {
  /** From the root of the repository, with `/`. */
  path: string
  text: string
  imports: Import[]
  exports: Export[]
  /** Block comments that begin with two stars. */
  docComments: { start: number; end: number }[]
  /** Every node, parents before children. */
  nodes: SyntaxNode[]
}

/** Reads one file from its text. Throws when it is no TypeScript. */
export function readSource(path: string, text: string): SourceFile {
  const { program, module, comments, errors } = parseSync(path, text)
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`)
  const nodes = nodesOf(program)
  const loaded = [
    ...module.staticImports.filter((one) => !isTypeImport(text, one)).map((one) => one.moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
    ),
    ...nodes.flatMap((node) => specifierOf(node, 'ImportExpression')),
  ]
  const types = [
    ...module.staticImports.filter((one) => isTypeImport(text, one)).map((one) => one.moduleRequest.value),
    ...nodes.flatMap((node) => specifierOf(node, 'TSImportType')),
  ]
  return {
    path,
    text,
    imports: [...new Set([...loaded, ...types])].map((specifier) => ({
      specifier,
      target: targetOf(path, specifier),
      isType: !loaded.includes(specifier),
    })),
    exports: module.staticExports.map(({ start, end, entries }) => ({
      names: entries.map(
        ({ exportName }) => exportName.name ?? (exportName.kind === 'Default' ? 'default' : '*'),
      ),
      start,
      end,
      isType: entries.every(({ isType }) => isType),
      passesOn: entries.some(({ moduleRequest }) => moduleRequest !== null),
    })),
    docComments: comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*')),
    nodes,
  }
}

/** Every TypeScript file below `folder`, which is named from the root of the repository. */
export function readSources(root: string, folder: string): SourceFile[] {
  return readdirSync(posix.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => {
      const path = posix.join(folder, name)
      return readSource(path, readFileSync(posix.join(root, path), 'utf8'))
    })
}

/** The module that an expression names: `import('x')` and the type `import('x').Y`. */
function specifierOf(node: SyntaxNode, kind: 'ImportExpression' | 'TSImportType'): string[] {
  if (node.type !== kind) return []
  const { value } = (node.source ?? {}) as { value?: unknown }
  return typeof value === 'string' ? [value] : []
}

/** `import type …`: a `type` inside the braces would leave an import of the file for its effects. */
function isTypeImport(text: string, { start, end }: { start: number; end: number }): boolean {
  return /^import\s+type\b/.test(text.slice(start, end))
}

function targetOf(path: string, specifier: string): string | null {
  return specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : null
}

function nodesOf(root: object): SyntaxNode[] {
  const nodes: SyntaxNode[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (value === null || typeof value !== 'object') return
    if (typeof (value as { type?: unknown }).type === 'string') nodes.push(value as SyntaxNode)
    Object.values(value).forEach(visit)
  }
  visit(root)
  return nodes
}
