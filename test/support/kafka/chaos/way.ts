/** Puts a proxy before each broker for one process, and applies a fault to all of them at once. */
import type { KafkaProxy } from '../proxy/proxy.ts'
import type { Hold, Rule, Touching } from '../proxy/proxy-rules.ts'

/** The faults that one process can be given; as those of a proxy, caught where any proxy has caught. */
export interface Way {
  hold(apiKey: number, only?: Touching): Hold
  dropReplies(apiKey: number, only?: Touching): Rule
  blackHole(): Rule
  refuse(): Rule
  cut(): void
}

/** Combines those proxies. */
export function wayOver(proxies: readonly KafkaProxy[]): Way {
  const each = <T>(put: (proxy: KafkaProxy) => T): T[] => proxies.map(put)
  return {
    hold(apiKey, only) {
      const holds = each((proxy) => proxy.hold(apiKey, only))
      const release = (): number => holds.reduce((sum, hold) => sum + hold.release(), 0)
      return { ...oneOf(holds), release }
    },
    dropReplies: (apiKey, only) => oneOf(each((proxy) => proxy.dropReplies(apiKey, only))),
    blackHole: () => oneOf(each((proxy) => proxy.blackHole())),
    refuse: () => oneOf(each((proxy) => proxy.refuse())),
    cut: () => void each((proxy) => proxy.cut()),
  }
}

function oneOf(rules: readonly Rule[]): Rule {
  return {
    caught: (count) => Promise.race(rules.map((rule) => rule.caught(count))),
    lift() {
      for (const rule of rules) rule.lift()
    },
  }
}
