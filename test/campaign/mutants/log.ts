/** Mutants of the log: its two adapters, what they share, and the SQLite below the embedded one. */
import type { Mutant } from './mutant.ts'

const embeddedTest = (title: string) => ({ file: 'test/log-embedded/log.test.ts', title })
const conformanceTest = (title: string) => ({ ...embeddedTest(title), suite: 'test/log/conformance.ts' })

/** Mutants of `src/log*` and `src/storage`. */
export const logMutants: readonly Mutant[] = [
  {
    name: 'state-in-a-second-transaction',
    file: 'src/log-embedded/writer.ts',
    before: `          writeRejected(db, rejected)
          writeRows(db, placeRows(place, after))`,
    after: `          faultHooks?.beforeCommit?.()
        })
        archive.transaction(() => {
          writeRejected(db, rejected)
          writeRows(db, placeRows(place, after))`,
    breaks: 'A commit is stored as a whole or not at all: events, rejected items, cursor and units.',
    killedBy: embeddedTest('stores a commit as a whole or not at all, also if the table %s refuses its rows'),
  },
  {
    name: 'no-flush-at-commit',
    file: 'src/storage/database.ts',
    before: "options.durable ? 'FULL' : 'NORMAL'",
    after: "'NORMAL'",
    breaks: 'A commit that resolved survives a loss of power.',
    killedBy: embeddedTest(
      'flushes each commit to the disk before it resolves, so that a loss of power loses none',
    ),
  },
  {
    name: 'embedded-fence-not-checked',
    file: 'src/log-embedded/writer.ts',
    before: 'if (currentFence(db) !== claimed.fence) throw fencedError()',
    after: '',
    breaks: 'A fenced writer makes no commit visible.',
    killedBy: conformanceTest('rejects the earlier of two writers, and shows nothing of its commit'),
  },
  {
    name: 'embedded-writer-survives-unknown-outcome',
    file: 'src/log-embedded/writer.ts',
    before: `        ended = endingOf(error)
        throw ended`,
    after: '        throw endingOf(error)',
    breaks: 'A writer whose last commit has an unknown outcome writes nothing more.',
    killedBy: conformanceTest('kills the writer: every later operation throws the same'),
  },
  {
    name: 'damage-not-noticed',
    file: 'src/log-embedded/writer.ts',
    before: 'if (stored?.place.sequence === latest && stored.place.epoch === epoch) return stored',
    after: 'if (stored !== null) return stored',
    breaks: 'A claim refuses a log whose state and events contradict each other.',
    killedBy: embeddedTest('refuses a claim when events that the state knows are missing'),
  },
  {
    name: 'sequence-with-a-hole',
    file: 'src/log-shared/place-rows.ts',
    before: 'sequence: sequence + 1 + index, epoch',
    after: 'sequence: sequence + 1 + index + (sequence > 0 ? 1 : 0), epoch',
    breaks: '`sequence` is gap-free and rises by one from event to event.',
    killedBy: conformanceTest(
      'gives each event the next sequence, gap-free from 1, and resolves with them in place',
    ),
  },
  {
    name: 'group-resolves-before-commit',
    file: 'src/log-embedded/group-commit.ts',
    before: `    metrics?.groupCommitWaiting.set({}, 0)
    try {`,
    after: `    metrics?.groupCommitWaiting.set({}, 0)
    for (const { resolve } of group) resolve()
    try {`,
    breaks: 'A write to a table, shard or journal resolves only when it is durable.',
    killedBy: {
      file: 'test/log-embedded/shard-rows.test.ts',
      title: 'report a full disk, write nothing of a failed call, and continue when there is space',
    },
  },
  {
    name: 'any-token-ends-the-claim',
    file: 'src/log-kafka/writer/state-tail.ts',
    before: `        this.#waiting.get(token)?.(new Map(this.#rows))
        this.#waiting.delete(token)`,
    after: `        for (const resolve of this.#waiting.values()) resolve(new Map(this.#rows))
        this.#waiting.delete(token)`,
    breaks: 'A claim on Kafka has read everything that earlier writers committed.',
    killedBy: {
      file: 'test/log-kafka/writer/state-tail.test.ts',
      title:
        'a claim waits for its own token, not for that of another claim, and so reads everything before its own',
    },
  },
  {
    name: 'hanging-state-aborted',
    file: 'src/log-kafka/writer/hanging-transactions.ts',
    before: 'const isThere = visible >= sequence ||',
    after: 'const isThere = visible > sequence ||',
    breaks: 'A commit that may have been acknowledged is not undone by the next claim.',
    killedBy: {
      file: 'test/log-kafka/writer/hanging-transactions.test.ts',
      title: 'is committed if its events are visible',
    },
  },
  {
    name: 'hanging-last-event-aborted',
    file: 'src/log-kafka/writer/hanging-transactions.ts',
    before: 'topicSequence <= countOf(state, hanging.topic.slice(parts.prefix.length + 1))',
    after: 'topicSequence < countOf(state, hanging.topic.slice(parts.prefix.length + 1))',
    breaks: 'An event that the writer state counts is in every topic that it belongs to.',
    killedBy: {
      file: 'test/log-kafka/writer/hanging-transactions.test.ts',
      title: 'are committed as far as the writer state counts their events, and aborted beyond',
    },
  },
  {
    name: 'fencing-error-taken-for-unknown',
    file: 'src/log-kafka/writer/writer.ts',
    before: 'isFencing(error)',
    after: 'false',
    breaks: 'A writer that Kafka has fenced reports that it is fenced, and never claims again in its term.',
    killedBy: {
      file: 'test/log-kafka/writer/writer.test.ts',
      title: 'is fenced by each of Kafka’s fencing errors, however deeply nested',
    },
  },
  {
    name: 'late-row-of-a-former-owner-counts',
    file: 'src/log-kafka/shards/valid-records.ts',
    before: 'if (token !== this.token || number <= this.number) {',
    after: 'if (token === this.token && number <= this.number) {',
    breaks: 'What a shard’s former owner still writes never undoes a row of the present one.',
    killedBy: {
      file: 'test/log-kafka/shards/valid-records.test.ts',
      title:
        'keeps the row of its present owner: one of a former owner does not undo it, however late it is written',
    },
  },
  {
    name: 'kafka-read-uncommitted',
    file: 'src/log-kafka/client/partition-protocol.ts',
    before: 'isolationLevel: readUncommitted ? READ_UNCOMMITTED : READ_COMMITTED,',
    after: 'isolationLevel: READ_UNCOMMITTED,',
    breaks: 'A reader of Kafka never sees what was not committed.',
    killedBy: {
      file: 'test/integration/kafka-log/log.test.ts',
      title: 'never shows what was not committed',
      suite: 'test/log/conformance.ts',
    },
  },
  {
    name: 'kafka-claim-without-fence',
    file: 'src/log-kafka/writer/transactions.ts',
    before: `      const empty = await this.#producer.transaction()
      await empty.abort()
`,
    after: '',
    breaks: 'A claim on Kafka fences every earlier writer before it reads anything.',
    killedBy: {
      file: 'test/integration/kafka-log/log.test.ts',
      title: 'makes every earlier writer unable to commit before the claim reads anything',
      suite: 'test/log/takeovers.ts',
    },
  },
]
