/** Mutants of the poller: its state machine, what it sends, and what it commits. */
import type { Mutant } from './mutant.ts'

const machine = (name: string) => `src/ingest/machine/${name}.ts`
const machineTest = (name: string, title: string) => ({ file: `test/ingest/machine/${name}.test.ts`, title })

const listsTest = (title: string) => ({ file: 'test/ingest/lists-behind.test.ts', title })
const orderTest = (title: string) => ({ file: 'test/ingest/orders.test.ts', title })

/** Mutants of `src/ingest`, and of the upstream client by which it sends. */
export const ingestMutants: readonly Mutant[] = [
  {
    name: 'full-page-not-filled',
    file: machine('overflow'),
    before: '(page.hasMore === true || page.count >= config.pageSize)',
    after: '(page.hasMore === true)',
    breaks: 'A full page may hide items even if upstream does not say so: a fill or an open gap follows.',
    killedBy: machineTest(
      'overflow',
      'is followed by a fill if its page is full, although upstream does not send `hasMore`',
    ),
  },
  {
    name: 'has-more-not-filled',
    file: machine('overflow'),
    before: '(page.hasMore === true || page.count >= config.pageSize)',
    after: '(page.count >= config.pageSize)',
    breaks: 'Every `hasMore` is followed by a fill or an open gap.',
    killedBy: machineTest(
      'overflow',
      'is followed by a fill if upstream sends `hasMore`, although its page is not full',
    ),
  },
  {
    name: 'cursor-before-items',
    file: machine('poll'),
    before: "    publish(context, { purpose: 'poll', items: fetched, rejected: page.rejected, last: first })",
    after: `    enqueue(context, 'poll', { events: [], head: first })
    publish(context, { purpose: 'poll', items: fetched, rejected: page.rejected })`,
    breaks: 'The upstream cursor moves in the same commit as the events that it covers.',
    killedBy: machineTest('overflow', 'moves only in a commit that has its items, or an open gap over them'),
  },
  {
    name: 'cursor-before-gap',
    file: machine('poll'),
    before: `    remember(context, cursor)
    return startScan(context, {`,
    after: `    remember(context, cursor)
    enqueue(context, 'poll', { events: [], head: first })
    return startScan(context, {`,
    breaks:
      'The cursor of an overflowing poll moves in the same commit as its items or as the open gap over them.',
    killedBy: machineTest('overflow', 'moves only in a commit that has its items, or an open gap over them'),
  },
  {
    name: 'gap-not-stored',
    file: machine('postpone'),
    before: `    first: { ...head, openGaps: [...openGaps, fromFirstPage(opening), ...others] },
    last: { openGaps: [...openGaps, { ...opening, found: leftOutByPoll(scan) }, ...others] },`,
    after: `    first: { ...head, openGaps },
    last: { openGaps },`,
    breaks: 'A gap that readers were told of stays in the durable head until it is filled or given up.',
    killedBy: machineTest(
      'machine',
      'publishes a gap event for a fill that takes longer than two seconds, and another when it ends',
    ),
  },
  {
    name: 'refused-cursor-without-gap',
    file: machine('poll'),
    before: 'first: { openGaps: [...head.openGaps, gap] },',
    after: 'first: {},',
    breaks: 'A cursor that upstream refuses is replaced only behind an open gap, which is filled.',
    killedBy: machineTest(
      'machine',
      'opens a gap when upstream rejects its cursor after a stop, and fills it',
    ),
  },
  {
    name: 'revision-not-raised',
    file: 'src/ingest/poller/read-page.ts',
    before: 'const revision = (standing?.revision ?? 0) + 1',
    after: 'const revision = 1',
    breaks: 'New content of a known guid is published as its next revision.',
    killedBy: machineTest('machine', 'publishes new content of a known guid as its next revision'),
  },
  {
    name: 'unreadable-item-stored-again',
    file: 'src/ingest/poller/read-page.ts',
    before: 'isRejected(hash) ? [] : item',
    after: 'item',
    breaks: 'An unreadable item is stored once, however often upstream sends it.',
    killedBy: {
      file: 'test/ingest/poller/read-page.test.ts',
      title: 'rejects each unreadable text once, and none that is already stored',
    },
  },
  {
    name: 'unreplicated-item-forgotten',
    file: 'src/ingest/poller/not-yet-replicated.ts',
    before: 'if (remembered === undefined || remembered.sequence <= this.#replica.latest)',
    after: 'if (remembered === undefined || remembered.sequence > this.#replica.latest)',
    breaks: 'An item that is committed but not yet in the replica is not published again.',
    killedBy: {
      file: 'test/ingest/poller/not-yet-replicated.test.ts',
      title: 'count as known until the replica has them, and are then dropped',
    },
  },
  {
    name: 'sent-with-old-proof',
    file: 'src/ingest/poller/send-permit.ts',
    before: 'while (!signal.aborted && clock.now() - provenMs > MAX_PROOF_AGE_MS)',
    after: 'while (!signal.aborted && clock.now() - provenMs < 0)',
    breaks: 'A process that was frozen and fenced while its request waited sends nothing.',
    killedBy: {
      file: 'test/ingest/poller/send-permit.test.ts',
      title: 'a request is not sent if its process was frozen and fenced while it waited',
    },
  },
  {
    name: 'fenced-writer-claims-again',
    file: machine('step'),
    before: "if (code === 'fenced') return campaign(context)",
    after: '',
    breaks: 'A fenced writer gives up its leadership and campaigns again; it never claims in the same term.',
    killedBy: machineTest(
      'broken-writer',
      'a poller whose writer was fenced gives up its term: it campaigns, and claims only when elected again',
    ),
  },
  {
    name: 'sent-before-its-unit',
    file: 'src/upstream/client.ts',
    before: `    await permit.spend(purpose, now())
    await permit.throttle(signal)
    return transport.get(path, signal, options)`,
    after: `    await permit.throttle(signal)
    const sent = transport.get(path, signal, options)
    await permit.spend(purpose, now())
    return sent`,
    breaks: 'A unit of quota is durable before its request is sent.',
    killedBy: {
      file: 'test/upstream/client.test.ts',
      title:
        'the unit is durable before the throttle grants a slot, and both happen before the request is sent',
    },
  },
  {
    name: 'pause-forgotten-with-the-lead',
    file: machine('step'),
    before:
      'context.state = { ...initialState(), lastGoodPollMs, pausedSinceMs, holds, ...clocksOf(context.state) }',
    after: 'context.state = { ...initialState(), lastGoodPollMs, holds, ...clocksOf(context.state) }',
    breaks: 'A pause holds over each change of the lead.',
    killedBy: orderTest('a leader that steps down campaigns again, and keeps a pause'),
  },
  {
    name: 'order-over-a-retry-after',
    file: machine('orders'),
    before: "if (isAfter429 && nowMs < blockedUntilMs) return { why: 'throttled', untilMs: blockedUntilMs }",
    after: '',
    breaks: 'No order of an operator sends a request before the wait after a 429 is over.',
    killedBy: orderTest(
      'the order %s sends nothing while polling is paused, after a 429 before its wait is over, and without a unit',
    ),
  },
  {
    name: 'complete-day-pending-by-order',
    file: machine('daily-reconciliation'),
    before: '? { ...walk, ...anew, retryMs: nowMs }',
    after: "? { ...anew, state: 'owed', atMs: nowMs, readMs: nowMs }",
    breaks: 'A day that counts as complete stays so while it is read again.',
    killedBy: orderTest('a complete day is read again from its first page, and stays complete meanwhile'),
  },
  {
    name: 'backfill-page-dropped-at-stop',
    file: machine('postpone'),
    before: 'return { backfill: { ...backfill, next: { fromMs, pageCursor } } }',
    after: 'return { backfill }',
    breaks: 'A restart in the middle of a backfill reads no page again.',
    killedBy: {
      file: 'test/ingest/backfill-restarts.test.ts',
      title: 'a stop in the middle of a day of the backfill costs no page, and no item is lost or repeated',
    },
  },
  {
    name: 'stuck-list-filled-one-day-back',
    file: machine('overflow'),
    before: 'return Math.min(heldMs, oldestMs)',
    after: 'return oldestMs',
    breaks: 'A fill goes back to the newest item that is held, however long the list stood still.',
    killedBy: machineTest(
      'broken-worlds',
      'loses no item on %s where it stands still for %i ms, polls answered all the while',
    ),
  },
  {
    name: 'dead-cursor-not-checked',
    file: machine('poll'),
    before: '(endedEarly || isCheckDue(context))',
    after: 'endedEarly',
    breaks: 'A cursor that upstream accepts and lists nothing behind does not blind the polls.',
    killedBy: machineTest(
      'broken-worlds',
      'blinds no poll on %s where it begins its cursors anew and lists nothing behind the old ones',
    ),
  },
  {
    name: 'emptied-list-believed',
    file: machine('page-scan'),
    before: 'if (isShortOfDay(context, scan)) return',
    after: 'if (isShortOfDay(context, scan) && false) return',
    breaks: 'A day is complete only if the list had what is known of it.',
    killedBy: machineTest(
      'broken-worlds',
      'is not taken for a day that was read again, nor for a filled gap, while it is empty',
    ),
  },
  {
    name: 'list-behind-believed',
    file: machine('page-scan'),
    before: 'if (isBehindPoll(scan)) return',
    after: 'if (isBehindPoll(scan) && false) return',
    breaks: 'A gap is filled only by a list that has what polls have shown of it.',
    killedBy: listsTest('that is minutes behind fills no gap before it has what polls have shown'),
  },
  {
    name: 'day-behind-believed',
    file: machine('daily-reconciliation'),
    before: 'if (isBehindDay(dayOf(context, day.date), range.fromMs, guids)) return true',
    after: 'if (isBehindDay(dayOf(context, day.date), range.fromMs, guids) && false) return true',
    breaks: 'A day is complete only if the list has one of its newest items.',
    killedBy: listsTest('that stands still fills no gap and completes no day, and all comes once it goes on'),
  },
  {
    name: 'full-last-page-believed',
    file: machine('page-scan'),
    before: 'if (belowMs !== null) return',
    after: 'if (belowMs !== null && belowMs < 0) return',
    breaks: 'What lies behind a full last page is asked for by date.',
    killedBy: listsTest('is read on by date: %s'),
  },
  {
    name: 'total-by-number-believed',
    file: machine('overflow'),
    before: 'met.size === total && pageNumber * config.pageSize',
    after: 'total !== null && pageNumber * config.pageSize',
    breaks: 'A list that is read by page numbers is whole once as many items were met as it has.',
    killedBy: listsTest('loses nothing in silence: one %s'),
  },
  {
    name: 'late-day-believed',
    file: machine('daily-reconciliation'),
    before: 'if (range === null || late === null || late.items < LATE_ITEMS) {',
    after: 'if (range === null || late === null || late.items >= 0) {',
    breaks: 'A day whose list has items late is complete once a reading finds hardly any.',
    killedBy: {
      file: 'test/ingest/days-read-again.test.ts',
      title:
        'a day whose reading finds items that polls should have shown is read until no more of them come: %s',
    },
  },
  {
    name: 'units-left-in-the-future',
    file: 'src/governor/quota/time-buckets.ts',
    before: 'const atMs = isToCome(bucketMs) ? placeMs : bucketMs',
    after: 'const atMs = isToCome(bucketMs) ? Math.max(placeMs, bucketMs) : bucketMs',
    breaks: 'A clock that is put right leaves no unit counted in the future.',
    killedBy: { file: 'test/ingest/clock-set-back.test.ts', title: 'and polls go on at their pace: $when' },
  },
  {
    name: 'known-items-as-sign-of-life',
    file: machine('dead-cursor'),
    before: 'const isSeen = isByDate || toMs > beforeMs || page.fresh',
    after: 'const isSeen = isByDate || page.count > 0 || toMs > beforeMs || page.fresh',
    breaks: 'Items that every poll lists again do not show that the cursor leads to new ones.',
    killedBy: {
      file: 'test/ingest/dead-cursors.test.ts',
      title:
        'a replica for cursors that stands still, behind an item that is stamped ahead, blinds no poll for long: %s',
    },
  },
  {
    name: 'expired-page-cursor-believed',
    file: machine('page-scan'),
    before: 'if (hasWaited(context, before) && page.count === 0)',
    after: 'if (hasWaited(context, before) && page.count < 0)',
    breaks: 'An empty page behind a page cursor that has waited does not end a scan.',
    killedBy: machineTest(
      'broken-worlds',
      'loses no item on %s where page cursors that have waited bring an empty last page',
    ),
  },
  {
    name: 'waiting-page-cursor-believed',
    file: machine('page-scan'),
    before: ' || Math.abs(nowMs - pageMs) >= WAITED_MS',
    after: '',
    breaks: 'An empty page behind a page cursor that was kept while 429s came does not end a scan.',
    killedBy: machineTest(
      'broken-worlds',
      'loses no item where 429s keep a page waiting and its cursor then brings an empty last page, seed %i',
    ),
  },
  {
    name: 'cursor-ahead-kept',
    file: machine('stamped-ahead'),
    before: 'hasDate === true && head.cursorTimeMs !== null',
    after: 'hasDate === null && head.cursorTimeMs !== null',
    breaks:
      'Where upstream’s own clock was ahead for a while, polls do not go on with a cursor of that time.',
    killedBy: {
      file: 'test/ingest/upstream-clock-jumps.test.ts',
      title: 'makes no item later than usual: $plan, $aheadMs ms',
    },
  },
  {
    name: 'clock-by-a-narrow-vote',
    file: machine('present'),
    before: 'most < MAJORITY * least',
    after: 'most < least',
    breaks: 'A clock that was set back while polls waited is not taken for the right one.',
    killedBy: machineTest(
      'broken-worlds',
      'where our clock is set back by an hour while polls wait: the items of the next page fit both clocks',
    ),
  },
  {
    name: 'refused-cursors-adopted-again',
    file: machine('poll'),
    before: 'if (refusals > 0 && nowMs',
    after: 'if (refusals > 99 && nowMs',
    breaks: 'An upstream that refuses all its own cursors does not cost a gap at every third request.',
    killedBy: machineTest(
      'broken-worlds',
      'an upstream that refuses all its own cursors costs a gap in five minutes, then ever fewer, and no item',
    ),
  },
  {
    name: 'old-item-behind-cursor-dropped',
    file: 'src/ingest/poller/compare-page.ts',
    before: 'query.sinceCursor === undefined ? beyondRetentionMs(archive, claimed, nowMs) : null',
    after: 'beyondRetentionMs(archive, claimed, nowMs)',
    breaks: 'What a poll lists behind its cursor is published, however old its time.',
    killedBy: {
      file: 'test/ingest/poller/beyond-retention.test.ts',
      title: 'a poller publishes each item behind its cursor',
    },
  },
]
