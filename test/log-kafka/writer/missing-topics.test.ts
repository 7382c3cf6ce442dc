/** Tests which missing topics a claim makes again, and that those which no commit needs neither fail nor delay it. */
import { expect, it } from 'vitest'
import { BridgeError } from '../../../src/errors.ts'
import { createMissingTopics } from '../../../src/log-kafka/writer/missing-topics.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const REFUSED = new BridgeError('kafka', 'the cluster refuses it')

/** A claim that finds these topics missing; `create` is how each creation ends. */
function claimFinding(missing: readonly string[], create: (topic: string) => Promise<void>) {
  const { logger, lines } = keepingLogger()
  const asked: string[] = []
  const topics = {
    missing: async (among: readonly string[]) => among.filter((topic) => missing.includes(topic)),
    async createAgain(these: readonly string[]) {
      asked.push(...these)
      await Promise.all(these.map(create))
    },
  }
  const { signal: closed } = new AbortController()
  const parts = { prefix: 'p', logger, topics, closed, createTopics: async () => undefined }
  return { asked, lines, done: createMissingTopics(parts, ['fca.BOA']) }
}

it('makes what is missing, and does not look at the others', async () => {
  const { asked, done } = claimFinding(['all', 'gaps', 'status'], async () => undefined)
  expect(await done).toEqual(new Set())
  expect(asked.toSorted()).toEqual(['fca.BOA', 'gaps', 'status'])
})

it('waits for no topic that no commit needs', async () => {
  const { done } = claimFinding(['internal.leader'], (topic) =>
    topic === 'fca.BOA' ? Promise.resolve() : new Promise<never>(() => undefined),
  )
  expect(await done).toEqual(new Set())
})

it('logs that one cannot be had, and makes the others', async () => {
  const { asked, lines, done } = claimFinding(['status', 'internal.answers'], async (topic) => {
    if (topic === 'status') throw REFUSED
  })
  expect(await done).toEqual(new Set())
  expect(asked).toContain('internal.answers')
  const fields = { topic: 'p.status', error: REFUSED }
  expect(lines).toEqual([{ level: 'warn', event: 'topic.create_refused', fields }])
})

it('goes on where another program makes a topic with several partitions in the same moment', async () => {
  const missing = ['gaps']
  const { done } = claimFinding(missing, async (topic) => {
    if (topic !== 'gaps') return
    missing.pop()
    throw new BridgeError('kafka', 'the topic p.gaps has 3 partitions')
  })
  expect(await done).toEqual(new Set())
})

it('fails where a topic that commits need cannot be had', async () => {
  const { done } = claimFinding(['rejected'], async (topic) => {
    if (topic === 'rejected') throw REFUSED
  })
  await expect(done).rejects.toBe(REFUSED)
})
