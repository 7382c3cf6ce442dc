/** Decides what a proxy does to each frame while a test has rules in force, and lets tests wait until a rule matches. */

/** A rule in force. Lifting it twice is the same as once. */
export interface Rule {
  /** Resolves when the rule has caught at least `count` frames, one by default. Rejects after two minutes. */
  caught(count?: number): Promise<void>
  lift(): void
}

/** A request in flight that the proxy holds. */
export interface HeldRequest {
  /** Sends it on. False when the connection to the broker has closed. */
  send(): boolean
}

/** Narrows a rule to requests that name the topic (its name in the cluster), and to ends of transactions that write to it. */
export interface Touching {
  touching: string
}

/** What a proxy knows of a received request. */
export interface PassingRequest {
  apiKey: number
  /** True when it names the topic, or ends a transaction that writes to it. */
  touches(topic: string): boolean
}

/** Requests of one API that are held back. */
export interface Hold extends Rule {
  /** Sends on what is held, in the order of arrival, and ends the rule. Answers how many reached the broker. */
  release(): number
}

/** The rules of one proxy. A test uses the upper part, the connections the lower. */
export interface ProxyRules {
  /**
   * Keeps back every request of that API from now on. Those behind it on the same connection pass, as they would on
   * another; the held ones survive the client's connection, as packets on their way do. `lift` lets new ones pass and
   * leaves those that are held. `only` leaves all others alone.
   */
  hold(apiKey: number, only?: Touching): Hold
  /** Throws away every reply to a request of that API that was not answered yet; of those that `only` names. */
  dropReplies(apiKey: number, only?: Touching): Rule
  /** Every frame, either way, leaves that many milliseconds after it came. Caught are the frames so delayed. */
  delay(delayMs: number): Rule
  /** Drops no frame but passes none either way; frames sent meanwhile pass when it is lifted. */
  blackHole(): Rule
  /** Resets new connections at once. */
  refuse(): Rule
  /** Requests of that API that came in so far, held ones too. */
  seen(apiKey: number): number

  /** Takes a request. Null: pass it on. Otherwise it is held, and `keep` gets it. */
  request(passing: PassingRequest): ((held: HeldRequest) => void) | null
  /** Whether the response to that request is dropped. */
  drops(passing: PassingRequest): boolean
  /** The delay of a frame that arrives now, ms. */
  delayMs(): number
  /** Resolves when no black hole is open, at once if none is. */
  open(): Promise<void>
  /** Whether a new connection is reset now. */
  refuses(): boolean
}

interface Catching extends Rule {
  catch(): void
}

/** Rules that pass every frame until a test adds one. */
export function createProxyRules(): ProxyRules {
  const holds = new Map<Catching, Aim & { held: HeldRequest[] }>()
  const drops = new Map<Catching, Aim>()
  const delays = new Map<Catching, number>()
  const refusals = new Set<Catching>()
  const holes = new Map<Catching, PromiseWithResolvers<void>>()
  const seen = new Map<number, number>()
  return {
    hold(apiKey, only) {
      const entry: Aim & { held: HeldRequest[] } = { apiKey, only, held: [] }
      const rule = createRule(`the hold of requests ${apiKey}`, () => holds.delete(rule))
      holds.set(rule, entry)
      const release = (): number => {
        rule.lift()
        return entry.held.splice(0).filter((request) => request.send()).length
      }
      return { ...rule, release }
    },
    dropReplies(apiKey, only) {
      const rule = createRule(`the drop of answers to ${apiKey}`, () => drops.delete(rule))
      drops.set(rule, { apiKey, only })
      return rule
    },
    delay(delayMs) {
      const rule = createRule('the delay', () => delays.delete(rule))
      delays.set(rule, delayMs)
      return rule
    },
    blackHole() {
      const opened = Promise.withResolvers<void>()
      const rule = createRule('the black hole', () => {
        holes.delete(rule)
        opened.resolve()
      })
      holes.set(rule, opened)
      return rule
    },
    refuse() {
      const rule = createRule('the refusal', () => refusals.delete(rule))
      refusals.add(rule)
      return rule
    },
    seen: (apiKey) => seen.get(apiKey) ?? 0,

    request(passing) {
      const { apiKey } = passing
      seen.set(apiKey, (seen.get(apiKey) ?? 0) + 1)
      const found = [...holds].find(([, entry]) => hits(entry, passing))
      if (found === undefined) return null
      const [rule, entry] = found
      return (held) => {
        entry.held.push(held)
        rule.catch()
      }
    },
    drops(passing) {
      const found = [...drops].find(([, aim]) => hits(aim, passing))
      found?.[0].catch()
      return found !== undefined
    },
    delayMs() {
      for (const rule of delays.keys()) rule.catch()
      return Math.max(0, ...delays.values())
    },
    async open() {
      while (holes.size > 0) {
        for (const rule of holes.keys()) rule.catch()
        await Promise.all([...holes.values()].map(({ promise }) => promise))
      }
    },
    refuses() {
      for (const rule of refusals) rule.catch()
      return refusals.size > 0
    },
  }
}

/** Which requests a rule is for. */
interface Aim {
  apiKey: number
  only: Touching | undefined
}

function hits({ apiKey, only }: Aim, passing: PassingRequest): boolean {
  return apiKey === passing.apiKey && (only === undefined || passing.touches(only.touching))
}

/** A rule that never matches a request fails before the test times out. */
const LONGEST_WAIT_MS = 120_000

function createRule(what: string, lift: () => void): Catching {
  let count = 0
  const waiting = new Map<() => void, number>()
  return {
    lift,
    caught: (wanted = 1) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          reject(new Error(`${what} has caught ${count} of ${wanted} in ${LONGEST_WAIT_MS} ms`))
        }, LONGEST_WAIT_MS)
        waiting.set(() => {
          clearTimeout(timer)
          resolve()
        }, wanted)
        wake()
      }),
    catch() {
      count++
      wake()
    },
  }
  function wake(): void {
    for (const [resolve, wanted] of waiting) {
      if (count < wanted) continue
      waiting.delete(resolve)
      resolve()
    }
  }
}
