/**
 * Tests `bridge repair` on topics that disagree as after a mirror has copied them one by one: the log goes on, readers learn
 * what was lost, and a gap is open over it.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { groupElections } from '../../../src/log-kafka/group/leader.ts'
import { inspectKafka } from '../../../src/log-kafka/inspect.ts'
import { compareTopics } from '../../../src/log-kafka/repair.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { claimed, followed, gapOpened, idsOf, sampleEvents, sampleGap } from '../../log/samples.ts'
import { bridgeEnv, runToEnd, temporaryDirectory } from '../../support/bridge-process.ts'
import { kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { readTopic } from '../../support/kafka/read-topic.ts'

const brokers = (await sharedBrokers()) ?? []
const logs = createLogKeeper()
afterEach(() => logs.closeAll())

describe.skipIf(brokers.length === 0)('bridge repair', () => {
  const directory = temporaryDirectory()
  let sandbox: Sandbox

  beforeAll(async () => {
    sandbox = await startSandbox({ scenario: 'quiet', plan: 'advanced' }, { clock: systemClock })
  })
  afterAll(async () => {
    await sandbox?.close()
    directory[Symbol.dispose]()
  })

  const optionsOf = (prefix: string) => kafkaLogOptions(brokers, prefix)

  const envOf = (prefix: string) =>
    bridgeEnv(sandbox, directory.path, {
      BRIDGE_KAFKA_BROKERS: brokers.join(','),
      BRIDGE_TOPIC_PREFIX: prefix,
    })

  /** Runs the command; the last line of its output where it succeeded. */
  async function repair(prefix: string, ...args: string[]) {
    const { code, stdout, stderr } = await runToEnd(['repair', '--json', ...args], envOf(prefix))
    return { code, stderr, done: stdout === '' ? null : (JSON.parse(stdout) as Record<string, unknown>) }
  }

  /** A log of three events and an open gap; then the copy of its state is one that ends with event `sequence`. */
  async function withStateAt(sequence: number) {
    const prefix = uniqueName('mirrored')
    const log = logs.open(optionsOf(prefix))
    const writer = await claimed(log)
    const gap = sampleGap('g')
    await writer.commit({ events: [...sampleEvents(1, 3), gapOpened(gap)], head: { openGaps: [gap] } })
    const { epoch } = writer.state.head
    await logs.closeAll()
    const producer = kafkaClient(brokers).producer()
    await producer.connect()
    const messages = [
      { key: 'head/sequence', value: String(sequence) },
      { key: 'gap/g', value: null },
    ]
    await producer.send({ topic: `${prefix}.internal.state`, messages })
    await producer.disconnect()
    return { prefix, epoch, options: optionsOf(prefix) }
  }

  /** Writes these events of `all` again behind its end, as a mirror does that was killed and started again. */
  async function copyAgain(prefix: string, sequences: readonly number[]) {
    const kafka = kafkaClient(brokers)
    const topic = `${prefix}.all`
    const records = await readTopic(kafka, topic, 4)
    const producer = kafka.producer()
    await producer.connect()
    const again = records.filter(({ headers }) => sequences.includes(Number(headers.ce_sequence)))
    await producer.send({
      topic,
      messages: again.map(({ key, value, headers }) => ({ key, value, headers })),
    })
    await producer.disconnect()
  }

  it('counts events that the state does not know, takes over their gaps, and keeps the epoch', async () => {
    const { prefix, epoch, options } = await withStateAt(2)
    await expect(claimed(logs.open(options))).rejects.toMatchObject({
      code: 'log_damaged',
      hint: expect.stringContaining('bridge repair'),
    })
    const inspect = () => inspectKafka({ ...options, polls: true }, AbortSignal.timeout(20_000))
    expect((await inspect()).disagreement).toEqual({ state: 2, last: 4 })
    // A dry run promises nothing that the restore would refuse.
    const restored = await runToEnd(['restore', '--dry-run'], envOf(prefix))
    expect([restored.code, restored.stderr]).toEqual([1, expect.stringContaining('bridge repair first')])
    const asked = await repair(prefix)
    expect([asked.code, asked.done]).toEqual([2, null])
    expect(asked.stderr).toContain('names event 2 as the last; the events end with 4')
    expect(asked.stderr).toContain('--yes')
    expect((await inspect()).disagreement).toEqual({ state: 2, last: 4 })

    const { code, done } = await repair(prefix, '--yes')
    expect([code, done]).toMatchObject([
      0,
      { repaired: true, lost: 0, unknown: 2, epoch, sequence: 4, gap: null },
    ])
    const log = logs.open(options)
    const writer = await claimed(log)
    expect(writer.state.head).toMatchObject({ epoch, sequence: 4, openGaps: [{ id: 'g' }] })
    await writer.commit({ events: sampleEvents(5, 5) })
    expect((await followed(log, 0, 5)).map((event) => event.epoch)).toEqual(
      Array.from({ length: 5 }, () => epoch),
    )
    const again = await repair(prefix)
    expect([again.code, again.done]).toMatchObject([0, { repaired: false, sequence: 5 }])
  })

  it('finds no difference while a leader commits', async () => {
    const options = optionsOf(uniqueName('committing'))
    const writer = await claimed(logs.open(options))
    let isEnded = false
    const committing = (async () => {
      for (let n = 1; !isEnded; n++) await writer.commit({ events: sampleEvents(n, n) })
    })()
    const differences: unknown[] = []
    const ends = new Set<number | null>()
    try {
      for (let looks = 0; looks < 50; looks++) {
        const { state, last } = await compareTopics(options, AbortSignal.timeout(20_000))
        if (state?.sequence !== last) differences.push({ state, last })
        ends.add(last)
      }
    } finally {
      isEnded = true
      await committing
    }
    expect(differences).toEqual([])
    expect(ends.size).toBeGreaterThan(25)
  })

  it('begins a new epoch after lost events, opens a gap over them, and shows it to readers of the topic', async () => {
    const { prefix, epoch, options } = await withStateAt(9)
    const { code, done, stderr } = await repair(prefix, '--yes')
    expect(stderr).toContain('5 events after')
    expect([code, done]).toMatchObject([0, { repaired: true, lost: 5, unknown: 0, sequence: 5 }])
    const present = String(done?.epoch)
    expect(present).not.toBe(epoch)
    const log = logs.open(options)
    const writer = await claimed(log)
    expect(writer.state.head).toMatchObject({ epoch: present, sequence: 5 })
    // The state names no gap: an event among the lost ones has closed it.
    expect(writer.state.head.openGaps).toMatchObject([{ id: 'g' }, { cause: 'outage' }])
    await writer.commit({ events: sampleEvents(6, 6) })
    const events = await followed(log, 0, 6)
    expect(idsOf(events).slice(0, 3)).toEqual(idsOf(sampleEvents(1, 3)))
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6])
    expect(events[4]?.type).toBe('bridge.gap.opened.v1')
    // Readers of the topic see it by the epoch of the records; a replica takes all of them for the present one.
    expect(events.map((event) => event.epoch)).toEqual([epoch, epoch, epoch, epoch, present, present])
    expect(await log.end(AbortSignal.timeout(20_000))).toEqual({
      epoch: present,
      sequence: 6,
      earlier: { through: 4, epochs: { [epoch]: 4 } },
    })
  })

  it('says what to do where all events were deleted, and that ends in a log that goes on', async () => {
    const { prefix, options } = await withStateAt(4)
    const admin = kafkaClient(brokers).admin()
    await admin.connect()
    await admin.deleteTopics({ topics: [`${prefix}.all`] })
    await admin.disconnect()
    const refused = await repair(prefix, '--yes')
    expect([refused.code, refused.done]).toEqual([5, null])
    expect(refused.stderr).toMatch(/all does not exist.*Without a backup: start a bridge.*run bridge repair/s)

    await expect(claimed(logs.open(options))).rejects.toMatchObject({
      code: 'log_damaged',
      hint: expect.stringContaining('bridge repair'),
    })
    await logs.closeAll()
    const { code, done } = await repair(prefix, '--yes')
    expect([code, done]).toMatchObject([0, { repaired: true, lost: 4, unknown: 0 }])
    const log = logs.open(options)
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(5, 5) })
    expect(idsOf(await followed(log, 0, 2)).slice(-1)).toEqual(idsOf(sampleEvents(5, 5)))
  })

  it('is not needed where a restarted mirror has copied events a second time: they are read once', async () => {
    const { prefix, options } = await withStateAt(4)
    await copyAgain(prefix, [2, 3, 4])
    const log = logs.open(options)
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(5, 6) })
    for (const after of [0, 1, 3]) {
      const events = await followed(log, after, 6 - after)
      expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6].slice(after))
    }
  })

  it('refuses a mirror that ends within such a second copy, where numbers would be given out twice', async () => {
    const { prefix } = await withStateAt(3)
    await copyAgain(prefix, [2, 3])
    const { code, stderr } = await repair(prefix, '--yes')
    expect([code, stderr]).toEqual([1, expect.stringContaining('it has event 4, and after it 3 again')])
  })

  it('changes nothing while a bridge runs', async () => {
    const { prefix, options } = await withStateAt(3)
    const running = logs.open({ ...options, openElections: groupElections })
    await running.campaign(new AbortController().signal)
    const { code, stderr } = await repair(prefix, '--yes')
    expect([code, stderr]).toEqual([1, expect.stringContaining('1 bridge of this prefix runs')])
  })

  it('has nothing to do for a log that nobody has written to, and names what it needs', async () => {
    const prefix = uniqueName('unused')
    expect((await repair(prefix)).stderr).toContain(`the topic ${prefix}.internal.state does not exist`)
    await logs.open(optionsOf(prefix)).end(AbortSignal.timeout(20_000))
    expect((await repair(prefix)).done).toMatchObject({ repaired: false, sequence: 0, epoch: null })
  })
})
