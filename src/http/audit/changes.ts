/**
 * Defines how a route records what it changes, and the values that an audit entry may hold. A secret is a `Hidden` value: it
 * is compared, and never written.
 */
import type { IncomingMessage } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import type { AuditAction } from './audit-actions.ts'

/** A value that no entry shows: whether it changed is known by `#value`, which leaves this object in no form. */
export class Hidden {
  readonly #value: unknown
  /** What an entry shows in its place. */
  readonly shown: string

  /** `shown`: the harmless part of the value, such as the origin of a URL. */
  constructor(value: unknown, shown = '[hidden]') {
    this.#value = value
    this.shown = shown
  }

  /** Whether the other one hides an equal value. */
  equals(other: unknown): boolean {
    return other instanceof Hidden && isDeepStrictEqual(this.#value, other.#value)
  }

  toJSON(): string {
    return this.shown
  }
}

/** What a member of an entry may be. */
export type AuditValue =
  | string
  | number
  | boolean
  | null
  | Hidden
  | readonly AuditValue[]
  | { readonly [name: string]: AuditValue }

/** Members of what is changed. */
export type AuditFacts = Readonly<Record<string, AuditValue>>

/** The audited members of a `Whole`. A member that is added to it does not compile until it has its rule: null = never shown. */
export type AuditView<Whole> = {
  readonly [Name in keyof Required<Whole>]: ((value: Whole[Name]) => AuditValue) | null
}

/** The audited members of an object. */
export function viewed<Whole extends object>(view: AuditView<Whole>, whole: Whole): AuditFacts {
  const facts: Record<string, AuditValue> = {}
  for (const name of Object.keys(view) as (keyof Whole & string)[]) {
    const rule = view[name]
    if (rule !== null) facts[name] = rule(whole[name])
  }
  return facts
}

/** Who asks for a change, as `Caller` says. */
export interface ChangeAuthor {
  tokenId: string
  tenant: string
  seesAllTenants: boolean
  session?: { id: string }
}

/** What a route is about to change. */
export interface AuditedChange {
  /** Id of what is changed; null where it has none. */
  target: string | null
  /** Whose it is; null: of the whole bridge, which only the operator sees. */
  tenant: string | null
  /** What it was; empty where it is new. */
  before?: AuditFacts
  /** What it is; empty where it is deleted. */
  after?: AuditFacts
}

/** Says what was not known before the change was made. */
export type NoteChange = (more: Partial<AuditedChange>) => void

/** Makes a change, and records it. */
export type MakeChange = <T>(
  author: ChangeAuthor,
  change: AuditedChange,
  make: (note: NoteChange) => Promise<T>,
) => Promise<T>

/** The audit journal, as routes use it. */
export interface Audit {
  /**
   * Makes a change and records who asked for it, from where, and what became of it. Returns and throws what `make` does.
   * @throws HttpProblem `unavailable` where a `stored` action cannot be recorded; then it is not made
   */
  record<T>(
    asked: { action: AuditAction; author: ChangeAuthor; request: IncomingMessage },
    change: AuditedChange,
    make: (note: NoteChange) => Promise<T>,
  ): Promise<T>
}

/** Records nothing: of a process whose routes change nothing, and of tests of single routes. */
export const NO_AUDIT: Audit = { record: (_asked, _change, make) => make(() => undefined) }

/** Makes the changes of one request to a route with that action. @throws TypeError where the route names none */
export function changeFor(
  action: AuditAction | undefined,
  request: IncomingMessage,
  audit: Audit,
): MakeChange {
  if (action !== undefined)
    return (author, change, make) => audit.record({ action, author, request }, change, make)
  return () => {
    throw new TypeError(`${request.method} ${request.url} makes a change, and its route names no action`)
  }
}

/** The members that differ, as they were and as they are. A member that is on one side only is shown there. */
export function changedMembers(
  before: AuditFacts,
  after: AuditFacts,
): { before: AuditFacts; after: AuditFacts } {
  const differs = (name: string): boolean => !isSame(before[name], after[name])
  const only = (facts: AuditFacts): AuditFacts =>
    Object.fromEntries(Object.entries(facts).filter(([name]) => differs(name)))
  return { before: only(before), after: only(after) }
}

function isSame(one: AuditValue | undefined, other: AuditValue | undefined): boolean {
  if (one instanceof Hidden) return one.equals(other)
  if (one === null || other === null || typeof one !== 'object' || typeof other !== 'object')
    return one === other
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  const [left, right] = [one, other] as Record<string, AuditValue>[]
  return other instanceof Hidden ? false : [...names].every((name) => isSame(left?.[name], right?.[name]))
}
