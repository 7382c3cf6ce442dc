/** Measures a match and an update of the subscription index at the size of a large node. */
import { seededChance } from '../src/core/chance.ts'
import { readDisclosure } from '../src/core/disclosure.ts'
import { disclosureFacts, type Facts } from '../src/core/filter/facts.ts'
import { FilterIndex } from '../src/core/filter/filter-index.ts'
import { type Figure, quantile } from './figures.ts'
import { syntheticEvents, syntheticIsin } from './support/synthetic-events.ts'

const SUBSCRIPTIONS = 50_000
const IDENTIFIERS = 20
/** Identifiers there are: those of every instrument that the exchange lists, about. */
const LISTED = 50_000
const MATCHES = 20_000
const UPDATES = 20_000

/** p99 of a match and of an update, µs. */
export function indexFigures(runs: number): Figure[] {
  const matches: number[] = []
  const updates: number[] = []
  for (let run = 1; run <= runs; run++) {
    const chance = seededChance(run)
    const drawn = () => ({
      isins: Array.from({ length: IDENTIFIERS }, () => syntheticIsin(chance.between(0, LISTED - 1))),
    })
    const index = new FilterIndex<number>()
    for (let id = 0; id < SUBSCRIPTIONS; id++) index.add(id, drawn())
    const facts = syntheticEvents(run)(MATCHES).map(factsOf)
    matches.push(
      quantile(
        eachMicros(facts, (one) => index.match(one)),
        0.99,
      ),
    )
    const changes = Array.from({ length: UPDATES }, () => ({
      id: chance.between(0, SUBSCRIPTIONS - 1),
      filter: drawn(),
    }))
    updates.push(
      quantile(
        eachMicros(changes, ({ id, filter }) => index.add(id, filter)),
        0.99,
      ),
    )
  }
  return [
    { name: '50,000 subscriptions × 20: match p99', unit: 'µs', values: matches, goal: { atMost: 20 } },
    { name: '50,000 subscriptions × 20: update p99', unit: 'µs', values: updates, goal: { atMost: 1000 } },
  ]
}

function eachMicros<T>(members: readonly T[], work: (member: T) => void): number[] {
  return members.map((member) => {
    const startMs = performance.now()
    work(member)
    return (performance.now() - startMs) * 1000
  })
}

function factsOf({ data }: { data: string }): Facts {
  const read = readDisclosure(JSON.parse(data))
  if (!read.ok) throw new Error(read.reason)
  return disclosureFacts(read.disclosure, 'published', 'Native')
}
