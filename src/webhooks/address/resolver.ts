/**
 * Resolves names by DNS and caches answers for five seconds. The hosts file is not read: the system's look-up has four
 * threads, which a few slow names would block.
 */
import { Resolver } from 'node:dns/promises'
import { type Clock, sleep } from '../../lifecycle/clock.ts'

/**
 * The addresses of a name, at least one, IPv4 first; rejects where there are none, with `code` as Node's DNS has it. A family
 * whose answer comes late is left out.
 */
export type Resolve = (name: string) => Promise<readonly string[]>

/** Wait for one server's first answer; c-ares doubles it for the second try. */
const SERVER_TIMEOUT_MS = 1_500
const TRIES = 2
/** How long the answer of one family waits for that of the other: the resolution delay of RFC 8305. */
const OTHER_FAMILY_MS = 50
/** How long an answer is cached. Connections go to the checked address, so a cached answer bypasses no check. */
const HOLD_MS = 5_000
/** Maximum of cached names; above it the cache is cleared. */
const MOST_NAMES = 10_000

/**
 * Asks these name servers (`host:port`), by default those of the system, for both families at once. A name server that answers
 * for one family only, and drops the other query, delays nothing.
 */
export function createResolver(clock: Clock, servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: SERVER_TIMEOUT_MS, tries: TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  return async (name) => {
    const asked = [resolver.resolve4(name), resolver.resolve6(name)]
    const answers: (readonly string[])[] = [[], []]
    const kept = asked.map(async (answer, family) => {
      answers[family] = await answer
    })
    const ended = new AbortController()
    const first = Promise.any(kept).then(
      () => sleep(clock, OTHER_FAMILY_MS, ended.signal),
      () => undefined,
    )
    await Promise.race([Promise.allSettled(kept), first])
    ended.abort()
    const addresses = answers.flat()
    if (addresses.length === 0) await asked[0]
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
