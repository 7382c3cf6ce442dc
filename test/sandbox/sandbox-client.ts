/** Opens a sandbox on a stopped clock with a plain HTTP client. */
import { onTestFinished } from 'vitest'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts'
import { createManualClock, type ManualClock } from '../support/time/manual-clock.ts'

export interface Item {
  guid: string
  timestamp: string
  rnsId: string
  headline: string
  [member: string]: unknown
}

export interface ListBody {
  data: Item[]
  meta: { paging: Record<string, unknown> }
  warnings?: string[]
  error?: { message: string; hint?: string }
}

export interface Reply {
  status: number
  headers: Headers
  body: ListBody
}

export interface TestSandbox {
  sandbox: Sandbox
  clock: ManualClock
  /** GET below `/v2` with the key, body parsed. */
  get: (path: string, headers?: Record<string, string>) => Promise<Reply>
  /** The list operation. */
  list: (query?: string | Record<string, string | number>) => Promise<Reply>
  /** JSON of the admin port. */
  admin: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: never }>
}

/** Quota and rate that no test reaches by chance. */
export const UNLIMITED = { weeklyQuota: 1_000_000, ratePerSecond: 1_000_000, burst: 1_000_000 }

/** Starts a sandbox that is closed when the test ends. */
export async function openSandbox(options: SandboxOptions = {}): Promise<TestSandbox> {
  const clock = createManualClock()
  const sandbox = await startSandbox({ scenario: 'quiet', ...UNLIMITED, ...options }, { clock })
  onTestFinished(() => sandbox.close())
  const get = async (path: string, headers: Record<string, string> = {}): Promise<Reply> => {
    const response = await fetch(`${sandbox.url}${path}`, {
      headers: { 'x-api-key': sandbox.key, ...headers },
    })
    return { status: response.status, headers: response.headers, body: (await response.json()) as ListBody }
  }
  return {
    sandbox,
    clock,
    get,
    list: (query = '') => {
      const text =
        typeof query === 'string'
          ? query
          : new URLSearchParams(
              Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
            )
      return get(`/disclosures/sources/rns/items?${text}`)
    },
    async admin(method, path, body) {
      const response = await fetch(`${sandbox.adminUrl}${path}`, {
        method,
        ...(body === undefined
          ? {}
          : {
              headers: { 'content-type': 'application/json' },
              body: typeof body === 'string' ? body : JSON.stringify(body),
            }),
      })
      return { status: response.status, body: (await response.json()) as never }
    },
  }
}

/** A small item; members of `more` replace or add. */
export function item(guid: string, timestamp: string, more: Record<string, unknown> = {}): Item {
  return {
    rnsId: '0001A',
    timestamp,
    source: 'RNS',
    guid,
    version: 1,
    issuer: { name: 'Harrow PLC' },
    headline: 'Headline',
    category: [],
    publication: [],
    ...more,
  }
}

/** guids of a reply, in its order. */
export function guids(reply: Reply): string[] {
  return reply.body.data.map((listed) => listed.guid)
}

/** Every page of a page scan by `pageCursor`, as received. */
export async function walk(
  list: TestSandbox['list'],
  query: Record<string, string | number>,
  between: () => void = () => {},
): Promise<string[]> {
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const reply: Reply = await list(cursor === null ? query : { ...query, pageCursor: cursor })
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body))
    seen.push(...guids(reply))
    cursor = reply.body.meta.paging.nextCursor as string | null
    between()
  } while (cursor !== null)
  return seen
}
