/** Mutants of the archive and of the streams that read from it. */
import type { Mutant } from './mutant.ts'

const readingTest = (name: string, title: string) => ({ file: `test/archive/reading/${name}.test.ts`, title })
const replicatorTest = (title: string) => ({ file: 'test/archive/replica/replicator.test.ts', title })

/** Mutants of `src/archive` and `src/streams`. */
export const archiveMutants: readonly Mutant[] = [
  {
    name: 'long-searches-owe-one-slice',
    file: 'src/archive/reading/search-slices.ts',
    before: 'Math.max(-MOST_DEBT_MS, line.creditMs',
    after: 'Math.max(-SLICE_MS, line.creditMs',
    breaks: 'Searches of one caller take an eighth of the time while others need it, on a busy machine too.',
    killedBy: readingTest(
      'search-slices',
      'it gets no more where the machine is so busy that each of its searches takes longer than a time slice',
    ),
  },
  {
    name: 'heartbeat-cursor-ahead',
    file: 'src/streams/fanout/session.ts',
    before: 'const isScanned = this.#isWaiting && this.#epoch === reader.epoch',
    after: 'const isScanned = this.#epoch === reader.epoch',
    breaks: 'The cursor of a heartbeat is never ahead of what the stream has sent.',
    killedBy: {
      file: 'test/streams/fanout/session.test.ts',
      title:
        'sends with a heartbeat the cursor of what it has sent, not of what the node has matched for others',
    },
  },
  {
    name: 'fell-behind-not-noticed',
    file: 'src/streams/fanout/session.ts',
    before: "if (reader.oldest - 1 > this.#position) return this.#end('fell_behind')",
    after: '',
    breaks: 'A stream whose next events are beyond retention is closed with a code instead of skipping them.',
    killedBy: {
      file: 'test/streams/fanout/session.test.ts',
      title: 'ends when its next events are beyond retention, without sending later ones',
    },
  },
  {
    name: 'oldest-cursor-off-by-one',
    file: 'src/archive/reading/resume.ts',
    before: 'if (sequence >= reader.oldest - 1) return',
    after: 'if (sequence >= reader.oldest - 2) return',
    breaks: 'A cursor whose next event is beyond retention is refused, with the oldest usable one.',
    killedBy: readingTest(
      'resume',
      'rejects a cursor older than the retained events and returns the oldest usable cursor',
    ),
  },
  {
    name: 'oldest-cursor-refused',
    file: 'src/archive/reading/resume.ts',
    before: 'if (sequence >= reader.oldest - 1) return',
    after: 'if (sequence > reader.oldest - 1) return',
    breaks: 'The oldest cursor that an error names can be resumed from.',
    killedBy: readingTest(
      'resume',
      'rejects a cursor older than the retained events and returns the oldest usable cursor',
    ),
  },
  {
    name: 'other-history-by-sequence-alone',
    file: 'src/archive/reading/resume.ts',
    before: 'if (storedMs !== null) return timeMs !== 0 && storedMs !== timeMs',
    after: 'if (storedMs !== null) return false',
    breaks: 'A cursor whose sequence names another event is of another history, and its reader gets a gap.',
    killedBy: readingTest(
      'resume',
      'takes a cursor for one of another history where nothing can be ahead, or where its time differs',
    ),
  },
  {
    name: 'restored-log-skips-new-events',
    file: 'src/archive/reading/resume.ts',
    before: 'Math.max(Math.min(after, shared), reader.oldest - 1)',
    after: 'Math.max(after, reader.oldest - 1)',
    breaks: 'A reader of an epoch before a restore gets every event that its log did not have.',
    killedBy: readingTest(
      'resume',
      'starts a reader of an epoch before a restore no later than the first event that its log did not have',
    ),
  },
  {
    name: 'hole-in-memory',
    file: 'src/archive/reading/recent-events.ts',
    before: 'if (event.sequence !== this.#latest + 1) {',
    after: 'if (event.sequence <= this.#latest) {',
    breaks: 'Readers see every sequence; a hole stops the process with an error.',
    killedBy: readingTest('recent-events', 'rejects an event whose sequence does not follow the last one'),
  },
  {
    name: 'hole-on-disk',
    file: 'src/archive/store/archive.ts',
    before: 'const hole = extent.latest !== 0 && event.sequence !== extent.latest + 1',
    after: 'const hole = extent.latest !== 0 && event.sequence <= extent.latest',
    breaks: 'The archive stores no event behind a hole in the sequence.',
    killedBy: {
      file: 'test/archive/store/archive.test.ts',
      title: 'stores nothing of a batch whose last event is rejected',
    },
  },
  {
    name: 'replica-of-another-epoch-kept',
    file: 'src/archive/replica/replicator.ts',
    before: 'if (archive.epoch !== epoch || archive.latest > sequence) this.#rebuild()',
    after: 'if (archive.latest > sequence) this.#rebuild()',
    breaks: 'A replica of another epoch is emptied before it is read.',
    killedBy: replicatorTest(
      'empties a replica of another epoch before anybody may read it, even if the log has more events',
    ),
  },
  {
    name: 'replica-not-compared',
    file: 'src/archive/replica/replicator.ts',
    before:
      'return event.sequence === last?.sequence && event.epoch === last?.epoch && event.id === last?.id',
    after: 'return event.sequence === last?.sequence && event.epoch === last?.epoch',
    breaks: 'A replica whose last event differs from the log’s is rebuilt.',
    killedBy: replicatorTest(
      'rebuilds a replica whose last event is another one of the same epoch and sequence',
    ),
  },
  {
    name: 'newest-event-pruned',
    file: 'src/archive/store/archive.ts',
    before: 'removeOldest(db, Math.min(sequence, extent.latest), limit)',
    after: 'removeOldest(db, sequence, limit)',
    breaks: 'The newest event is never pruned: it marks the end of the store.',
    killedBy: {
      file: 'test/archive/store/prune.test.ts',
      title: 'never prunes its newest event, which marks its end',
    },
  },
]
