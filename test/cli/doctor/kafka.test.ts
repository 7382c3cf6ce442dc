import { describe, expect, test } from 'vitest'
import { checkKafka, kafkaFindings } from '../../../src/cli/doctor/kafka.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { KafkaReport } from '../../../src/log-kafka/inspect.ts'

const never = new AbortController().signal
const whole: KafkaReport = {
  brokers: 3,
  silent: [],
  replication: 3,
  present: ['p.all', 'p.gaps'].map((topic) => ({
    ...{ topic, partitions: 1, replicas: 3, inSync: 3 },
    shards: false,
  })),
  missing: [],
  others: [],
  refused: [],
  unread: null,
  creation: null,
  refusedSettings: [],
  disagreement: null,
  lostEvents: null,
}

function lines(report: Partial<KafkaReport>): string[] {
  const found = kafkaFindings({ ...whole, ...report }, true)
  return found
    .filter(({ level, name }) => name !== 'rights' || level !== 'ok')
    .map(({ level, name, finding }) => `${level} ${name}: ${finding}`)
}

describe('the doctor’s Kafka check', () => {
  test('reports the embedded log if no brokers are set', async () => {
    expect(await checkKafka({ kafka: null, polls: true }, systemClock, never)).toMatchObject([
      { level: 'ok', name: 'kafka' },
    ])
  })

  test('reports nothing for topics that match the settings', () => {
    expect(lines({})).toEqual(['ok kafka: 3 brokers answer', 'ok topics: 2 as the settings say'])
    expect(lines({ present: [], missing: ['p.all', 'p.gaps'] })).toEqual([
      'ok kafka: 3 brokers answer',
      'ok topics: none yet; the first start creates 2, with replication 3',
    ])
  })

  test('names missing topics, several partitions, unsafe settings and lagging replicas', () => {
    expect(lines({ missing: ['p.gaps'] })[1]).toBe('warn topics: missing: p.gaps')
    const odd = { topic: 'p.all', partitions: 2, replicas: 1, inSync: 1, shards: false }
    expect(lines({ present: [odd] })).toEqual([
      'ok kafka: 3 brokers answer',
      'fail topics: more than one partition: p.all',
      'warn topics: replication 1: events can be lost when a broker fails',
    ])
    const behind = { topic: 'p.all', partitions: 1, replicas: 3, inSync: 2, shards: false }
    expect(lines({ present: [behind] })[1]).toBe('warn topics: replicas behind: p.all')
    const shards = { topic: 'p.internal.lanes.w', partitions: 64, replicas: 3, inSync: 3, shards: true }
    expect(lines({ present: [shards] })[1]).toBe('ok topics: 1 as the settings say')
  })

  test('names brokers that are away, and takes what fails then for their absence, not for a missing right', () => {
    const refused = ['Kafka: reading events failed: no leader']
    expect(lines({ brokers: 2, silent: [3], refused })).toEqual([
      'ok kafka: 2 brokers answer',
      'warn kafka: these brokers hold topics and do not answer: 3',
      'fail kafka: Kafka: reading events failed: no leader',
    ])
    expect(lines({ refused })).toContain('fail rights: Kafka: reading events failed: no leader')
  })

  test('fails where all events are gone while the state is there, whatever else is missing', () => {
    const missing = ['p.all', 'p.gaps']
    expect(lines({ missing, lostEvents: 'p.all' }).slice(1)).toEqual([
      'fail topics: p.all is missing, with every event in it, but the state of the writer is there',
      'warn topics: missing: p.gaps',
    ])
  })

  test('reports before the first start that the replication factor is impossible', () => {
    expect(lines({ brokers: 1, replication: 3, present: [], missing: ['p.all'] })[1]).toBe(
      'fail topics: replication 3 needs 3 brokers, and 1 answer',
    )
    const alone = { brokers: 1, replication: 1, present: [], missing: ['p.all'] }
    expect(lines(alone)[2]).toContain('warn topics: replication 1')
  })

  test('reports a setting once, however many topics have it', () => {
    const others = ['a', 'b', 'c', 'd', 'e'].map((code) => ({
      topic: `p.fca.${code}`,
      name: 'retention.ms',
      found: '604800000',
      expected: '86400000',
    }))
    expect(lines({ others })).toEqual([
      'ok kafka: 3 brokers answer',
      'warn topics: retention.ms is 604800000, not 86400000: p.fca.a, p.fca.b, p.fca.c and 2 more',
    ])
  })

  test('reports which rights were checked, and that nothing was written', () => {
    const rights = (polls: boolean) =>
      kafkaFindings(whole, polls).find(({ name }) => name === 'rights')?.finding
    expect(rights(true)).toContain('nothing was written')
    expect(rights(false)).toContain('was not tested')
  })

  test('warns if future categories get no topics, and fails if the first topics cannot be created', () => {
    const creation = 'Kafka: making topics failed: Not authorized'
    expect(lines({ creation })).toContain(`warn rights: ${creation}`)
    expect(lines({ creation, present: [], missing: ['p.all'] })).toContain(`fail rights: ${creation}`)
  })

  test('warns if topic settings cannot be read, which no bridge needs', () => {
    expect(lines({ unread: 'Kafka: reading' })).toContain('warn topics: Kafka: reading')
  })

  test('fails if state and events disagree, and names the command', () => {
    const report = { ...whole, disagreement: { state: 7, last: 5 } }
    expect(kafkaFindings(report, true)).toContainEqual(
      expect.objectContaining({
        level: 'fail',
        finding: 'the state of the writer names event 7 as the last, but the events end with 5',
        todo: expect.stringContaining('bridge repair'),
      }),
    )
  })

  test('warns of settings that the cluster refuses, and fails if it refuses the topics themselves', () => {
    const why = 'segment.bytes must be 64 MiB or more'
    const settings = ['segment.bytes', 'segment.ms']
    const refusedSettings = ['p.all', 'p.gaps'].map((topic) => ({ topic, settings, why }))
    expect(lines({ refusedSettings })).toContain(
      `warn topics: the cluster refuses settings of new topics: segment.bytes, segment.ms of p.all, p.gaps: ${why}`,
    )
    const none = { topic: 'p.all', settings: null, why: 'the cluster refuses to create p.all: no' }
    expect(lines({ refusedSettings: [none] })).toContain(
      'fail topics: new topics are refused: p.all: the cluster refuses to create p.all: no',
    )
  })

  test('fails if this user lacks the right to describe', () => {
    expect(lines({ refused: ['Kafka: reading events failed: Not authorized'] })[1]).toBe(
      'fail rights: Kafka: reading events failed: Not authorized',
    )
  })
})
