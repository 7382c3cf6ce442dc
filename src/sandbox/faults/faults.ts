/**
 * The fault switchboard: which faults are on, for how many requests or how long, and for which of them. Owns the list and
 * its reading from outside. Refuses to do harm: `fault-delivery.ts` does.
 */
import { z } from 'zod'
import { didYouMean } from '../../core/near.ts'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'

/** Every fault; what a client meets is in docs/use/sandbox.md. */
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

/** One of the faults that can be asked for. */
export type FaultKind = (typeof faultKinds)[number]

const faultFields = z.strictObject({
  kind: z.enum(faultKinds),
  /** Requests that meet it; without `count` and `forMs` one. */
  count: z.int().min(1).optional(),
  /** How long it stays, real milliseconds. */
  forMs: z.int().min(1).optional(),
  /** Only requests whose path and query contain this text. */
  path: z.string().min(1).optional(),
  /** Value of the Retry-After header, any text; without it the header is absent. */
  retryAfter: z
    .string()
    .regex(/^[\t\x20-\x7e]*$/, 'must be printable ASCII')
    .optional(),
  /** Of `status`: what is answered; default 500. */
  status: z.int().min(400).max(599).optional(),
  /** Of `drip`: real milliseconds between bytes; default 100. */
  intervalMs: z.int().min(1).optional(),
  /** Of `ignore-filters` and `warnings`: the entry in `warnings`; only the second has one by default. */
  warning: z.string().min(1).optional(),
})

/** A fault as it is switched on. */
export type FaultSetting = z.infer<typeof faultFields>

/** A fault that is on. */
export interface ActiveFault {
  id: number
  setting: FaultSetting
  /** Requests it has met. */
  met: number
  /** Requests left; null = no limit. */
  left: number | null
}

/** One request as far as a fault cares. */
export interface FaultRequest {
  /** Path with query. */
  url: string
  params: URLSearchParams
  /** True for the list operation. */
  isList: boolean
  /** True for every operation that is not open to everybody. */
  needsKey: boolean
}

export interface Faults {
  /**
   * Switches a fault on. Faults are tried in the order in which they were switched on. With `isOver` it stays, whatever
   * its setting says, until that is true.
   */
  add(setting: FaultSetting, isOver?: () => boolean): ActiveFault
  /** Those that are still on. */
  list(): ActiveFault[]
  /** Switches one off, or all. Returns how many were on. */
  remove(id: number | null): number
  /** The fault that this request meets, counted; null where there is none. */
  meet(request: FaultRequest): FaultSetting | null
}

/** An empty switchboard. `forMs` runs on the given clock. */
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

/** Faults of the list only meet requests that can show them. */
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
 * Reads a fault from outside.
 * @throws BridgeError `failed` that names each wrong field
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
