import { describe, expect, it } from 'vitest'
import { replicationOf, topicConfig } from '../../../src/log-kafka/topics/topic-setup.ts'

const settings = { prefix: 'p', replication: null, retentionMs: 5, allRetentionMs: null }

describe('the settings of topics', () => {
  it('keep the status a day, in segments that end before it does', () => {
    const { 'retention.ms': retention, 'segment.ms': segment } = topicConfig('status', settings, 3)
    expect(retention).toBe('86400000')
    expect(Number(segment)).toBeLessThan(Number(retention))
  })

  it('keep questions and answers for minutes, in segments no longer than that', () => {
    for (const topic of ['internal.questions', 'internal.answers']) {
      expect(topicConfig(topic, settings, 3)).toMatchObject({
        'cleanup.policy': 'delete',
        'retention.ms': '600000',
        'segment.ms': '600000',
      })
    }
  })

  it('keep what is younger than an hour of shards from compaction', () => {
    expect(topicConfig('internal.lanes.words', settings, 3)).toMatchObject({
      'cleanup.policy': 'compact',
      'min.compaction.lag.ms': '3600000',
      'min.insync.replicas': '2',
    })
    expect(topicConfig('internal.tables', settings, 3)).not.toHaveProperty('min.compaction.lag.ms')
  })

  it('keep a journal as long as it is asked for, in segments of a twentieth', () => {
    expect(topicConfig('internal.journal.tries', settings, 3, 20_000)).toMatchObject({
      'cleanup.policy': 'delete',
      'retention.ms': '20000',
      'segment.ms': '1000',
    })
    expect(topicConfig('internal.journal.tries', settings, 3)).not.toHaveProperty('retention.ms')
  })

  it('keep events as long as they are told to, and two copies in sync of three', () => {
    const kept = { 'cleanup.policy': 'delete', 'min.insync.replicas': '2' }
    expect(topicConfig('all', settings, 3)).toMatchObject({ ...kept, 'retention.ms': '-1' })
    expect(topicConfig('fca.REN', settings, 3)).toMatchObject({ ...kept, 'retention.ms': '5' })
    expect(topicConfig('gaps', settings, 2)).toMatchObject({ 'min.insync.replicas': '1' })
  })
})

describe('the replication of topics', () => {
  const of = (answering: number[], holding: number[] = [], named = 1, replication: number | null = null) =>
    replicationOf({ ...settings, replication }, { answering, holding, named })

  it('is three, or as many as there are brokers, those included that are away', () => {
    expect([of([1]), of([1, 2]), of([1, 2, 3]), of([1, 2, 3, 4])]).toEqual([1, 2, 3, 3])
    expect([of([1], [1, 2, 3]), of([1], [2]), of([1], [], 3), of([1, 2], [2, 3], 2)]).toEqual([3, 2, 3, 3])
  })

  it('is what is set, whatever brokers there are', () => {
    expect([of([1], [1, 2, 3], 3, 1), of([1], [], 1, 5)]).toEqual([1, 5])
  })
})
