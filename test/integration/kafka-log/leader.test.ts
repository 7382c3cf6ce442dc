/** Tests leader election on a real broker: hand-over, standbys that come and go, a killed leader, a stopped leader. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Admin } from 'kafkajs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { kafkaSessions } from '../../../src/log-kafka/client/client.ts'
import { type Elections, groupElections } from '../../../src/log-kafka/group/leader.ts'
import { eventually } from '../../support/http/api-client.ts'
import { createTopic, kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const brokers = (await sharedBrokers()) ?? []
const CHILD = join(import.meta.dirname, 'leader-child.ts')
const SESSION_MS = 6_000
const { signal } = new AbortController()

describe.skipIf(brokers.length === 0)('leading', () => {
  let admin: Admin
  let topic = ''
  let groupId = ''
  const opened: Elections[] = []
  const children: ChildProcess[] = []

  beforeAll(async () => {
    const kafka = kafkaClient(brokers)
    topic = await createTopic(kafka)
    admin = kafka.admin()
    await admin.connect()
  })
  afterAll(() => admin?.disconnect())
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    await Promise.all(opened.splice(0).map((elections) => elections.close()))
  })

  function stand(): Elections {
    if (opened.length === 0) groupId = uniqueName('leader')
    const { logger } = keepingLogger()
    const connection = { brokers, clientId: 'leader', tls: null, sasl: null }
    const openSession = kafkaSessions(connection, logger)
    const elections = groupElections({ openSession, clock: systemClock, logger, groupId, topic })
    opened.push(elections)
    return elections
  }

  /** Resolves when the group is stable and has that many members. */
  async function settled(members: number): Promise<void> {
    await eventually(
      async () => (await admin.describeGroups([groupId])).groups[0],
      (group) => group?.state === 'Stable' && group.members.length === members,
    )
  }

  it('moves at once from a leader that steps down to the standby that waits longest', async () => {
    const [first, second, third] = [stand(), stand(), stand()]
    const term = await first.campaign(signal)
    let secondWon = 0
    const waiting = second.campaign(signal).then((won) => {
      secondWon = performance.now()
      return won
    })
    await settled(2)
    const thirdCampaign = third.campaign(signal)
    await settled(3)
    expect([term.lost.aborted, secondWon]).toEqual([false, 0])
    const startedMs = performance.now()
    await term.end()
    expect(term.lost.aborted).toBe(true)
    const next = await waiting
    expect(secondWon - startedMs).toBeLessThan(1_000)
    expect(first.stillHolds()).toBe(false)
    expect(second.stillHolds()).toBe(true)
    await second.close()
    expect(next.lost.aborted).toBe(true)
    expect((await thirdCampaign).lost.aborted).toBe(false)
  })

  it('stays with a healthy leader while ten standbys join and leave', async () => {
    const leader = stand()
    const { lost } = await leader.campaign(signal)
    const leaving = new AbortController()
    const campaigns: Promise<unknown>[] = []
    for (let count = 1; count <= 10; count++) {
      campaigns.push(
        stand()
          .campaign(leaving.signal)
          .catch(() => 'left'),
      )
      await settled(count + 1)
      expect(lost.aborted).toBe(false)
    }
    leaving.abort()
    expect(new Set(await Promise.all(campaigns))).toEqual(new Set(['left']))
    await settled(1)
    expect([lost.aborted, leader.stillHolds()]).toEqual([false, true])
  })

  /** A replica that lacks events until it is filled. */
  function replicaLacking(missing: number) {
    const filled = Promise.withResolvers<void>()
    const replica = {
      missing,
      untilComplete: () => filled.promise,
      fill(): void {
        replica.missing = 0
        filled.resolve()
      },
    }
    return replica
  }

  it('moves from a leader with an incomplete replica to a standby that joins with a complete one, and stays there', async () => {
    const [cold, warm] = [stand(), stand()]
    const replica = replicaLacking(10_000)
    const { lost } = await cold.campaign(signal, replica)
    const won = await warm.campaign(signal, replicaLacking(0))
    await eventually(
      () => lost.aborted,
      (isLost) => isLost,
    )
    replica.fill()
    const again = cold.campaign(signal, replica)
    again.catch(() => undefined)
    await settled(2)
    expect([won.lost.aborted, warm.stillHolds(), cold.stillHolds()]).toEqual([false, true, false])
  })

  it('moves from a leader with an incomplete replica to the standby whose replica is complete first', async () => {
    const [leader, slow, quick] = [stand(), stand(), stand()]
    const replica = replicaLacking(10)
    const { lost } = await leader.campaign(signal, replicaLacking(10))
    slow.campaign(signal, replicaLacking(20)).catch(() => undefined)
    await settled(2)
    const campaign = quick.campaign(signal, replica)
    await settled(3)
    expect(lost.aborted).toBe(false)
    replica.fill()
    await campaign
    expect([quick.stillHolds(), slow.stillHolds()]).toEqual([true, false])
    await eventually(
      () => leader.stillHolds(),
      (holds) => !holds,
    )
  })

  it('can be regained by a process that stepped down', async () => {
    const leader = stand()
    const first = await leader.campaign(signal)
    await first.end()
    await first.end()
    const second = await leader.campaign(signal)
    await first.end()
    expect(second.lost.aborted).toBe(false)
  })

  it('moves to the standby when the leader is suspended or killed; a resumed leader knows that it lost', async () => {
    groupId = uniqueName('leader')
    const zombie = startProcess()
    await zombie.next('won')
    const successor = startProcess()
    await settled(2)
    const stoppedMs = Date.now()
    zombie.child.kill('SIGSTOP')
    expect((await successor.next('won')) - stoppedMs).toBeLessThan(SESSION_MS + 1_000)
    const resumedMs = Date.now()
    zombie.child.kill('SIGCONT')
    expect((await zombie.next('lost')) - resumedMs).toBeLessThan(500)
    await settled(2)
    expect([zombie.said.length, successor.said.length]).toEqual([2, 1])
    const killedMs = Date.now()
    successor.child.kill('SIGKILL')
    expect((await zombie.next('won')) - killedMs).toBeLessThan(SESSION_MS + 1_000)
  })

  /** A candidate in a separate process, and its output so far. */
  function startProcess() {
    const child = spawn(process.execPath, [CHILD, brokers.join(','), groupId, topic], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    const said: { won?: number; lost?: number }[] = []
    let heard = 0
    createInterface({ input: child.stdout }).on('line', (line) => said.push(JSON.parse(line)))
    return {
      child,
      said,
      /** The time at which it printed that word, which must be the next one. */
      async next(word: 'won' | 'lost'): Promise<number> {
        await eventually(
          () => said.length,
          (count) => count > heard,
        )
        const atMs = said[heard++]?.[word]
        if (atMs === undefined) throw new Error(`said ${JSON.stringify(said)}, not ${word} at the end`)
        return atMs
      },
    }
  }
})
