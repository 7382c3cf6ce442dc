/**
 * The long runs: `npm run campaign -- --seeds 20` prints what was tried and what was lost, as JSON. Owns the choice of
 * runs. Each run comes from its seed alone. Exit code 1 when anything was lost, repeated or out of order.
 */
import { parseArgs } from 'node:util'
import { seededChance } from '../../src/core/chance.ts'
import { isGap } from '../../src/core/event.ts'
import { burst, World } from '../support/ingest-world.ts'
import { killRuns } from './kills.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

interface Tally {
  runs: number
  published: number
  lost: number
  repeated: number
  outOfOrder: number
  gapsOpened: number
  gapsLeft: number
  requests: number
  failed: string[]
}

/** The poller's machine in simulated time, through failures, lost commit answers and deaths. */
function machineRuns(seeds: number): Tally {
  const tally: Tally = {
    runs: 0,
    published: 0,
    lost: 0,
    repeated: 0,
    outOfOrder: 0,
    gapsOpened: 0,
    gapsLeft: 0,
    requests: 0,
    failed: [],
  }
  for (let seed = 1; seed <= seeds; seed++) {
    const draw = seededChance(seed)
    const options = {
      seed,
      pageSize: draw.pick([20, 50, 100, 200]),
      failures: draw.pick([0, 0.05, 0.3]),
      unknowns: draw.pick([0, 0.05, 0.3]),
      crashes: draw.pick([0, 0.01, 0.05]),
      weeklyQuota: 1_000_000,
      startMs: SEVEN - 20 * SECOND,
      faultsUntilMs: SEVEN + 14 * MINUTE,
      items: [
        ...burst('a', SEVEN + SECOND, 9 * SECOND, 265),
        ...burst('b', SEVEN + 10 * MINUTE + SECOND, 10 * SECOND, 495),
      ],
    }
    const world = new World(options)
    world.run(SEVEN + 75 * MINUTE)
    const events = world.store.events.filter((event) => !isGap(event.type))
    const lost = world.missing().length
    const repeated = world.twice().length
    const outOfOrder = world.store.events.filter((event, index) => event.sequence !== index + 1).length
    tally.runs++
    tally.published += events.length
    tally.lost += lost
    tally.repeated += repeated
    tally.outOfOrder += outOfOrder
    tally.gapsOpened += world.store.events.filter((event) => event.type === 'bridge.gap.opened.v1').length
    tally.gapsLeft += world.openGaps.length
    tally.requests += world.requests.length
    if (lost + repeated + outOfOrder > 0) tally.failed.push(`seed ${seed}`)
  }
  return tally
}

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '20' }, kills: { type: 'string', default: '20' } },
})
const machine = machineRuns(Number(values.seeds) * 10)
const kills = await killRuns(Number(values.kills))
const result = { node: process.version, seeds: Number(values.seeds), machine, kills }
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
process.exitCode = machine.failed.length + kills.failed.length > 0 ? 1 : 0
