/** Finds the log events that source files write, and at which levels, from their syntax trees. */
import type { SourceFile, SyntaxNode } from './imports.ts'

/** The levels of lines, the least first. */
export const lineLevels: readonly string[] = ['debug', 'info', 'warn', 'error']

/**
 * The levels of each event that the files write. Found are calls such as `logger.warn('a.b', …)`, also with a chosen level or
 * event, and the actions of type `report` of the poller. Strings elsewhere do not count.
 */
export function loggedEvents(
  files: readonly SourceFile[],
  events: ReadonlySet<string>,
): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  const add = (names: readonly string[], levels: readonly string[]): void => {
    for (const name of names) {
      for (const level of levels) found.set(name, (found.get(name) ?? new Set()).add(level))
    }
  }
  const isEvent = (text: string): boolean => events.has(text)
  for (const file of files) {
    for (const node of file.nodes) {
      if (node.type === 'CallExpression') add(...callOf(node, isEvent))
      if (node.type === 'ObjectExpression')
        for (const logged of reportsOf(node, file, isEvent)) add(...logged)
    }
  }
  for (const [member, names] of eventMembers(files, isEvent)) add(names, levelsOfMember(files, member))
  return found
}

type Logged = [names: string[], levels: string[]]

/** `logger.level('event')`, `logger[…]('event')`. */
function callOf(node: SyntaxNode, isEvent: (text: string) => boolean): Logged {
  const callee = node.callee as SyntaxNode
  if (callee.type !== 'MemberExpression') return [[], []]
  const property = callee.property as SyntaxNode
  const levels = callee.computed === true ? textsOf(property) : [nameOf(property)]
  const [first] = node.arguments as SyntaxNode[]
  return [textsOf(first).filter(isEvent), levels.filter((level) => lineLevels.includes(level))]
}

/** `{ type: 'report', level, event }`, where the level may come from a function of the file. */
function reportsOf(node: SyntaxNode, file: SourceFile, isEvent: (text: string) => boolean): Logged[] {
  const members = membersOf(node)
  if (textsOf(members.get('type'))[0] !== 'report') return []
  const [level, event] = [members.get('level'), members.get('event')]
  if (level?.type === 'ConditionalExpression' && event?.type === 'ConditionalExpression') {
    const [one, other] = [level, event].map(({ test }) => textOf(test as SyntaxNode, file))
    if (one !== other) return [[textsOf(event).filter(isEvent), textsOf(level)]]
    return (['consequent', 'alternate'] as const).map((branch) => [
      textsOf(event[branch] as SyntaxNode).filter(isEvent),
      textsOf(level[branch] as SyntaxNode),
    ])
  }
  const levels =
    level?.type === 'CallExpression' ? levelsIn(nameOf(level.callee as SyntaxNode), file) : textsOf(level)
  return [[textsOf(event).filter(isEvent), levels]]
}

/** The levels that a function of the file may return: each that stands in it. */
function levelsIn(name: string, { nodes }: SourceFile): string[] {
  const body = nodes.find(
    ({ type, id }) => type === 'FunctionDeclaration' && nameOf(id as SyntaxNode) === name,
  )
  const inside = nodes.filter(
    ({ start, end }) => body !== undefined && start >= body.start && end <= body.end,
  )
  return inside
    .flatMap((node) => (node.type === 'Literal' ? textsOf(node) : []))
    .filter((text) => lineLevels.includes(text))
}

function textOf({ start, end }: SyntaxNode, { text }: SourceFile): string {
  return text.slice(start, end)
}

/** Members of objects whose value is an event, e.g. `{ unavailable: 'leader.group_unavailable' }`, by name. */
function eventMembers(
  files: readonly SourceFile[],
  isEvent: (text: string) => boolean,
): Map<string, string[]> {
  const members = new Map<string, string[]>()
  for (const node of files.flatMap(({ nodes }) => nodes)) {
    if (node.type !== 'ObjectExpression') continue
    const own = membersOf(node)
    if (textsOf(own.get('type'))[0] === 'report') continue
    for (const [name, value] of own) {
      for (const event of textsOf(value).filter(isEvent))
        members.set(name, [...(members.get(name) ?? []), event])
    }
  }
  return members
}

/** The levels of calls such as `logger.warn(events.unavailable)`. */
function levelsOfMember(files: readonly SourceFile[], name: string): string[] {
  return files.flatMap(({ nodes }) =>
    nodes.flatMap((node) => {
      if (node.type !== 'CallExpression') return []
      const [callee, [first]] = [node.callee as SyntaxNode, node.arguments as SyntaxNode[]]
      if (callee.type !== 'MemberExpression' || first?.type !== 'MemberExpression') return []
      if (nameOf(first.object as SyntaxNode) !== 'events' || nameOf(first.property as SyntaxNode) !== name)
        return []
      return [nameOf(callee.property as SyntaxNode)].filter((level) => lineLevels.includes(level))
    }),
  )
}

function membersOf(node: SyntaxNode): Map<string, SyntaxNode> {
  const properties = (node.properties as SyntaxNode[]).filter(({ type }) => type === 'Property')
  return new Map(
    properties.map(({ key, value }) => [nameOf(key as SyntaxNode), value as SyntaxNode] as const),
  )
}

function nameOf(node: SyntaxNode): string {
  return typeof node.name === 'string' ? node.name : ''
}

/** The text of a literal, or of both branches of a condition. */
function textsOf(node: SyntaxNode | undefined): string[] {
  if (node?.type === 'Literal') return typeof node.value === 'string' ? [node.value] : []
  if (node?.type !== 'ConditionalExpression') return []
  return [...textsOf(node.consequent as SyntaxNode), ...textsOf(node.alternate as SyntaxNode)]
}
