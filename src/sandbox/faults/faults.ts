/**
 * Keeps the active faults, picks the one that applies to a request, and validates faults that clients submit.
 */
import { z } from 'zod'
import { didYouMean } from '../../core/near.ts'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'

/** Every kind of fault; docs/use/sandbox.md describes what a client receives. */
export const faultKinds = [
  'throttle-429',
  'quota-429',
  'status',
  'revoke-key',
  'hang-before',
  'hang-inside',
  'drip',
  'truncate',
  'html-200',
  'empty-body',
  'no-content',
  'redirect',
  'reset',
  'reset-inside',
  'wrong-length',
  'broken-chunk',
  'gzip-rubbish',
  'gzip-cut',
  'refuse-cursor',
  'repeat-page',
  'stuck-cursor',
  'null-data',
  'duplicate-items',
  'ignore-filters',
  'warnings',
] as const

/** Kind of a fault. */
export type FaultKind = (typeof faultKinds)[number]

const faultFields = z.strictObject({
  kind: z.enum(faultKinds),
  /** Number of requests it applies to; 1 if neither `count` nor `forMs` is set. */
  count: z.int().min(1).optional(),
  /** How long it stays active, real milliseconds. */
  forMs: z.int().min(1).optional(),
  /** Only requests whose path and query contain this text. */
  path: z.string().min(1).optional(),
  /** Value of the Retry-After header, any text; without it the header is absent. */
  retryAfter: z
    .string()
    .regex(/^[\t\x20-\x7e]*$/, 'must be printable ASCII')
    .optional(),
  /** Of `status`: the response status; default 500. */
  status: z.int().min(400).max(599).optional(),
  /** Of `drip`: real milliseconds between bytes; default 100. */
  intervalMs: z.int().min(1).optional(),
  /** Of `ignore-filters` and `warnings`: the entry in `warnings`; only `warnings` has a default. */
  warning: z.string().min(1).optional(),
})

/** Settings with which a fault is switched on. */
export type FaultSetting = z.infer<typeof faultFields>

/** An active fault. */
export interface ActiveFault {
  id: number
  setting: FaultSetting
  /** Requests it has applied to so far. */
  met: number
  /** Requests left; null = no limit. */
  left: number | null
}

/** The properties of a request that faults match on. */
export interface FaultRequest {
  /** Path with query. */
  url: string
  params: URLSearchParams
  /** True for the list operation. */
  isList: boolean
  /** True for every operation that requires a key. */
  needsKey: boolean
}

export interface Faults {
  /**
   * Switches a fault on. Faults are tried in the order in which they were switched on. `isOver` replaces the setting's
   * `forMs`: the fault stays active until `isOver` returns true or its `count` is used up.
   */
  add(setting: FaultSetting, isOver?: () => boolean): ActiveFault
  /** Lists the active faults. */
  list(): ActiveFault[]
  /** Switches off one fault, or all for null. Returns how many it removed. */
  remove(id: number | null): number
  /** Returns and counts the fault that applies to this request; null if none does. */
  meet(request: FaultRequest): FaultSetting | null
}

/** Creates an empty set of faults. `forMs` runs on the given clock. */
export function createFaults(clock: Clock): Faults {
  let active: (ActiveFault & { isOver: () => boolean })[] = []
  let lastId = 0
  const forgetSpent = (): void => {
    active = active.filter((fault) => fault.left !== 0 && !fault.isOver())
  }
  return {
    add(setting, isOver) {
      lastId += 1
      const untilMs = setting.forMs === undefined ? Number.POSITIVE_INFINITY : clock.now() + setting.forMs
      const lasts = isOver !== undefined || setting.forMs !== undefined
      const fault = {
        id: lastId,
        setting,
        met: 0,
        left: setting.count ?? (lasts ? null : 1),
        isOver: isOver ?? (() => clock.now() >= untilMs),
      }
      active.push(fault)
      return shown(fault)
    },
    list() {
      forgetSpent()
      return active.map(shown)
    },
    remove(id) {
      forgetSpent()
      const before = active.length
      active = id === null ? [] : active.filter((fault) => fault.id !== id)
      return before - active.length
    },
    meet(request) {
      forgetSpent()
      const fault = active.find(({ setting }) => concerns(setting, request))
      if (fault === undefined) return null
      fault.met += 1
      if (fault.left !== null) fault.left -= 1
      return fault.setting
    },
  }
}

function shown({ id, setting, met, left }: ActiveFault): ActiveFault {
  return { id, setting, met, left }
}

/** True if the fault applies to the request; faults of list paging apply only to requests that can show them. */
function concerns({ kind, path }: FaultSetting, request: FaultRequest): boolean {
  const { url, params, isList, needsKey } = request
  if (path !== undefined && !url.includes(path)) return false
  switch (kind) {
    case 'refuse-cursor':
    case 'stuck-cursor':
      return isList && params.has('sinceCursor')
    case 'repeat-page':
      return isList && !params.has('sinceCursor') && !params.has('pageNumber')
    case 'null-data':
    case 'duplicate-items':
    case 'ignore-filters':
    case 'warnings':
      return isList
    case 'revoke-key':
      return needsKey
    default:
      return true
  }
}

/**
 * Validates a fault from a request body.
 * @throws BridgeError `failed` that names each invalid field
 */
export function readFault(body: unknown): FaultSetting {
  const result = faultFields.safeParse(body)
  if (result.success) return result.data
  const errors = result.error.issues.map((issue) => ({
    field: issue.path.join('.') || 'body',
    message: issue.message,
  }))
  const kind = body !== null && typeof body === 'object' && 'kind' in body ? String(body.kind) : ''
  const near = (faultKinds as readonly string[]).includes(kind) ? '' : didYouMean(kind, faultKinds)
  throw new BridgeError('failed', `this is not a fault${near}`, {
    hint: `kind is one of ${faultKinds.join(', ')}`,
    errors,
  })
}
