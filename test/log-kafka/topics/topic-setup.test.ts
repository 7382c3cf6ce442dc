import { describe, expect, it } from 'vitest'
import { replicationOf, topicConfig } from '../../../src/log-kafka/topics/topic-setup.ts'

const settings = { prefix: 'p', replication: null, retentionMs: 5, allRetentionMs: null }

describe('the settings of topics', () => {
  it('keep the status a day, in segments that end earlier', () => {
    const { 'retention.ms': retention, 'segment.ms': segment } = topicConfig('status', settings, 3)
    expect(retention).toBe('86400000')
    expect(Number(segment)).toBeLessThan(Number(retention))
  })

  it('keep requests and responses for minutes, in segments no longer than that', () => {
    for (const topic of ['internal.questions', 'internal.answers']) {
      expect(topicConfig(topic, settings, 3)).toMatchObject({
        'cleanup.policy': 'delete',
        'retention.ms': '600000',
        'segment.ms': '600000',
      })
    }
  })

  it('protect shard records younger than an hour from compaction', () => {
    expect(topicConfig('internal.lanes.words', settings, 3)).toMatchObject({
      'cleanup.policy': 'compact',
      'min.compaction.lag.ms': '3600000',
      'min.insync.replicas': '2',
    })
    expect(topicConfig('internal.tables', settings, 3)).not.toHaveProperty('min.compaction.lag.ms')
  })

  it('keep a journal for its retention time and within 4 GiB, in segments of a twentieth', () => {
    expect(topicConfig('internal.journal.tries', settings, 3, 20_000)).toMatchObject({
      'retention.bytes': String(4 * 1024 ** 3),
      'cleanup.policy': 'delete',
      'retention.ms': '20000',
      'segment.ms': '1000',
    })
    expect(topicConfig('internal.journal.tries', settings, 3)).not.toHaveProperty('retention.ms')
  })

  it('keep rejected items, whose size the upstream decides, within 4 GiB, and events whatever their size', () => {
    expect(topicConfig('rejected', settings, 3)).toMatchObject({
      'retention.bytes': String(4 * 1024 ** 3),
      'retention.ms': '5',
    })
    for (const topic of ['all', 'fca.REN', 'gaps'])
      expect(topicConfig(topic, settings, 3)).not.toHaveProperty('retention.bytes')
  })

  it('forbid a leader that lacks committed records, whatever the cluster allows', () => {
    for (const topic of ['all', 'fca.REN', 'rejected', 'internal.state', 'internal.lanes.words']) {
      expect(topicConfig(topic, settings, 3)).toMatchObject({ 'unclean.leader.election.enable': 'false' })
    }
  })

  it('keep events for the configured time, and two in-sync replicas of three', () => {
    const kept = { 'cleanup.policy': 'delete', 'min.insync.replicas': '2' }
    expect(topicConfig('all', settings, 3)).toMatchObject({ ...kept, 'retention.ms': '-1' })
    expect(topicConfig('fca.REN', settings, 3)).toMatchObject({ ...kept, 'retention.ms': '5' })
    expect(topicConfig('gaps', settings, 2)).toMatchObject({ 'min.insync.replicas': '1' })
  })
})

describe('the replication of topics', () => {
  const of = (answering: number[], holding: number[] = [], named = 1, replication: number | null = null) =>
    replicationOf({ ...settings, replication }, { answering, holding, named })

  it('is three, or the number of brokers if fewer, unavailable ones included', () => {
    expect([of([1]), of([1, 2]), of([1, 2, 3]), of([1, 2, 3, 4])]).toEqual([1, 2, 3, 3])
    expect([of([1], [1, 2, 3]), of([1], [2]), of([1], [], 3), of([1, 2], [2, 3], 2)]).toEqual([3, 2, 3, 3])
  })

  it('is the configured one, whatever brokers exist', () => {
    expect([of([1], [1, 2, 3], 3, 1), of([1], [], 1, 5)]).toEqual([1, 5])
  })
})
