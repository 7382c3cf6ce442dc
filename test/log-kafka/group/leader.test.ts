/** Tests how terms begin and end while the group is silent. On real brokers: test/integration. */
import { expect, test } from 'vitest'
import type { Term } from '../../../src/log/events.ts'
import { groupElections } from '../../../src/log-kafka/group/leader.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { silentClient, TOPIC } from '../silent-client.ts'

const SESSION_MS = 6_000
const { signal } = new AbortController()

/** Elections of one member, which gets the partition when it joins. */
async function elected() {
  const clock = createManualClock()
  const client = silentClient()
  const { logger } = keepingLogger()
  const place = { openSession: () => client.session, clock, groupId: 'g', topic: TOPIC }
  const elections = groupElections({ ...place, logger })
  const term = await elections.campaign(signal)
  /** The next campaign, and whether it succeeded. */
  const again = () => {
    const won: Term[] = []
    void elections.campaign(signal).then((next) => won.push(next))
    return won
  }
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return { clock, client, elections, term, again, settled }
}

test('a term lost to a silent group is followed by another when the group answers the member', async () => {
  const { clock, client, elections, term, again, settled } = await elected()
  clock.advance(SESSION_MS)
  const won = again()
  await settled()
  expect([term.lost.aborted, elections.stillHolds(), won]).toEqual([true, false, []])
  client.say('beat')
  await settled()
  expect([elections.stillHolds(), won.map(({ lost }) => lost.aborted)]).toEqual([true, [false]])
  clock.advance(SESSION_MS)
  expect(won[0]?.lost.aborted).toBe(true)
  await elections.close()
  expect(clock.nextTimerMs()).toBe(null)
})

test('a clock that is set forward ends a term, and the next response of the group begins another', async () => {
  const { clock, client, elections, term, again, settled } = await elected()
  clock.set(clock.now() + SESSION_MS)
  expect([elections.stillHolds(), term.lost.aborted]).toEqual([false, true])
  const won = again()
  client.say('beat')
  await settled()
  expect([elections.stillHolds(), won.length]).toEqual([true, 1])
  await elections.close()
})

test('no response begins a term while others join, after another got the partition, or after the process stepped down', async () => {
  const { clock, client, elections, again, settled } = await elected()
  clock.advance(SESSION_MS)
  const won = again()
  client.say('rebalancing')
  client.say('beat')
  client.join('me', [])
  client.say('beat')
  await settled()
  expect([elections.stillHolds(), won]).toEqual([false, []])
  client.join('me', [0])
  await settled()
  expect(won).toHaveLength(1)
  const ended = won[0]?.end()
  client.say('beat')
  expect(elections.stillHolds()).toBe(false)
  await ended
  await elections.close()
})

test('a candidate whose replica becomes complete joins again, unless it leads or said so already', async () => {
  const client = silentClient([])
  const { logger } = keepingLogger()
  const place = { openSession: () => client.session, groupId: 'g', topic: TOPIC }
  const elections = groupElections({ ...place, clock: createManualClock(), logger })
  const complete = Promise.withResolvers<void>()
  const replica = { missing: 5, untilComplete: () => complete.promise }
  const ended = new AbortController()
  const campaign = elections.campaign(ended.signal, replica)
  campaign.catch(() => undefined)
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  await settled()
  expect(client.left).toEqual([])
  replica.missing = 0
  complete.resolve()
  await settled()
  expect(client.left).toEqual(['me'])
  client.join('me again', [])
  await settled()
  expect(client.left).toEqual(['me'])
  ended.abort()
  await elections.close()
})
