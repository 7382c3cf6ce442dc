/** Tests that a replay notices each kind of difference between a simulated log and a real one. */
import { describe, expect, it } from 'vitest'
import { askedOf, logCaseNames, logCases } from './log-cases.ts'
import type { LogOperation, RecordedWorld } from './operations.ts'
import { embeddedLog } from './real-log.ts'
import { replay } from './replay.ts'

const world = logCases['items that cannot be read']()

/** Writes; the claims' are among them. */
const OUTAGE_EVERY = 7

/** The same world, with its last operation of that type changed. */
function withChanged<T extends LogOperation['type']>(
  type: T,
  change: (operation: Extract<LogOperation, { type: T }>) => LogOperation,
): RecordedWorld {
  const index = world.operations.findLastIndex((operation) => operation.type === type)
  const operation = world.operations[index] as Extract<LogOperation, { type: T }>
  return { ...world, operations: world.operations.with(index, change(operation)) }
}

const wrong: Record<string, { world: RecordedWorld; difference: RegExp }> = {
  'a byte of an event': {
    world: { ...world, events: world.events.map((event) => ({ ...event, data: `${event.data} ` })) },
    difference: /^at the end: events: /,
  },
  'a missing event': {
    world: { ...world, events: world.events.slice(1) },
    difference: /^at the end: events: /,
  },
  'a rejected item': {
    world: { ...world, rejected: world.rejected.slice(1) },
    difference: /, claimed: hashes of rejected items: |^at the end: hashes of rejected items: /,
  },
  'the head that a claim reads': {
    world: withChanged('claimed', ({ after, ...claim }) => ({
      ...claim,
      after: { ...after, head: { ...after.head, cursor: 'another' } },
    })),
    difference: /^operation \d+, claimed: head\.cursor: /,
  },
  'the units that a commit leaves': {
    world: withChanged('commit-ended', ({ after, ...commit }) => ({
      ...commit,
      after: { ...after, ledger: new Map() },
    })),
    difference: /^operation \d+, commit-ended: ledger: /,
  },
  'the latest revision of an item': {
    world: withChanged('looked-up', (lookUp) => ({
      ...lookUp,
      found: new Map([['another', { revision: 1, hash: '' }]]),
    })),
    difference: /^operation \d+, looked-up: latest revisions: /,
  },
}

describe('a replay', () => {
  it.each(Object.keys(wrong))('notices %s', async (name) => {
    const one = wrong[name]
    await using log = embeddedLog()
    expect((await replay(one?.world ?? world, log)).difference).toMatch(one?.difference ?? /never/)
  })

  it.each([
    ['stored', 'afterCommit'],
    ['lost', 'beforeCommit'],
  ] as const)('follows a write without an answer that is %s', async (_, place) => {
    await using log = embeddedLog()
    let writes = 0
    log.faultHooks[place] = () => {
      writes += 1
      if (writes % OUTAGE_EVERY === 0) throw new Error('the answer is lost')
    }
    const { difference, outages } = await replay(world, log)
    expect(difference).toBeNull()
    expect(outages).toBeGreaterThan(1)
  })

  it('gives up a log that never answers', async () => {
    await using log = embeddedLog()
    log.faultHooks.beforeCommit = () => {
      throw new Error('the answer is lost')
    }
    await expect(replay(world, log)).rejects.toMatchObject({ code: 'log_unknown' })
  })

  it('asks a log for everything, over the worlds of the tests', () => {
    const asked = logCaseNames.map((name) => askedOf(logCases[name]()))
    for (const what of Object.keys(askedOf(world)) as (keyof (typeof asked)[number])[]) {
      expect(
        asked.some((counts) => counts[what] > 0),
        what,
      ).toBe(true)
    }
  })
})
