/**
 * Resolves names by DNS and caches answers for five seconds. The hosts file is not read: the system's look-up has four
 * threads, which a few slow names would block.
 */
import { Resolver } from 'node:dns/promises'
import type { Clock } from '../../lifecycle/clock.ts'

/**
 * The addresses of a name, both families, at least one; rejects where there are none, with `code` as Node's DNS has it.
 */
export type Resolve = (name: string) => Promise<readonly string[]>

/** Wait for one server's first answer; c-ares doubles it for the second try. */
const SERVER_TIMEOUT_MS = 1_500
const TRIES = 2
/** How long an answer is cached. Connections go to the checked address, so a cached answer bypasses no check. */
const HOLD_MS = 5_000
/** Maximum of cached names; above it the cache is cleared. */
const MOST_NAMES = 10_000

/** Asks these name servers (`host:port`), by default those of the system, for both families at once. */
export function createResolver(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: SERVER_TIMEOUT_MS, tries: TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  return async (name) => {
    const families = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = families.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const [first] = families
    if (addresses.length === 0 && first.status === 'rejected') throw first.reason
    return addresses
  }
}

/** Caches answers for five seconds and shares one look-up among concurrent callers. Failures are not cached. */
export function holdAnswers(resolve: Resolve, clock: Clock): Resolve {
  const held = new Map<string, { untilMs: number; answer: ReturnType<Resolve> }>()
  return (name) => {
    const nowMs = clock.now()
    const known = held.get(name)
    if (known !== undefined && known.untilMs > nowMs && known.untilMs <= nowMs + HOLD_MS) return known.answer
    if (held.size >= MOST_NAMES) held.clear()
    const asked = { untilMs: nowMs + HOLD_MS, answer: resolve(name) }
    held.set(name, asked)
    asked.answer.catch(() => {
      if (held.get(name) === asked) held.delete(name)
    })
    return asked.answer
  }
}
