/** Answers at a glance: is it working, is anything missing, how late is it. */
import { type ComponentChildren, h } from 'preact'
import { useMemo } from 'preact/hooks'
import type { DisclosureEvent, GapEvent } from '../../../../../clients/typescript/src/messages.ts'
import { useAnswer } from '../../shell/polling.ts'
import { useConsole, useNow } from '../../shell/services.ts'
import { useStore } from '../../shell/store.ts'
import { isGapEvent, type KnownGap, knownGaps } from '../gaps.ts'
import { ProblemNote, StateShape } from '../state.ts'
import { millisOf } from '../times.ts'
import { delaysOf } from './delays.ts'
import { type GlanceAnswer, glanceOf } from './glance-words.ts'

const EVERY_MS = 15_000
/** A gap is given up after three weeks: nobody waits for that. */
const GAPS_EVERY_MS = 60_000
/** So many of the newest announcements give the delay. */
const NEWEST = 100
/** So many of the newest events of gaps are looked at for gaps that were given up. */
const NEWEST_GAPS = 200

/** The three answers, kept fresh. */
export function GlancePanel(): ComponentChildren {
  const { status, session } = useConsole()
  const nowMs = useNow()
  const reported = useStore(status.reported)
  const mayRead = session.mayRead('events:read')
  const newest = useAnswer(mayRead ? LIST : null, { with: { tail: NEWEST } }, EVERY_MS)
  const first = useAnswer(mayRead ? LIST : null, { with: { limit: 1 } }, null)
  const gaps = useAnswer(mayRead ? LIST : null, { with: { types: 'gap', tail: NEWEST_GAPS } }, GAPS_EVERY_MS)
  const beganMs = millisOf(first.value?.data[0]?.recordedtime)
  const isKnown = reported.status !== null
  // By upstream's clock as it was when they came: it may be set, and in the demo it steps over the quiet.
  const delays = useMemo(
    () =>
      newest.value === null
        ? null
        : delaysOf(newest.value.data, reported.status?.upstream.aheadMs ?? 0, beganMs),
    [newest.value, isKnown, beganMs],
  )
  const givenUp = useMemo(() => (gaps.value === null ? null : givenUpGaps(gaps.value.data)), [gaps.value])
  const givenUpProblem = mayRead ? gaps.problem : { detail: 'this session lacks the scope events:read.' }
  const facts = { delays, delaysProblem: newest.problem, givenUp, givenUpProblem }
  const { working, missing, late } = glanceOf(reported, nowMs, facts)
  return h(
    'section',
    { class: 'glance', 'aria-label': 'At a glance' },
    h(Answer, { question: 'Is it working?', given: working }),
    h(Answer, { question: 'Is anything missing?', given: missing }),
    h(Answer, { question: 'How late is it?', given: mayRead ? (late ?? asking) : notToSee }),
    gaps.problem !== null &&
      h(ProblemNote, {
        problem: { ...gaps.problem, detail: `Gaps that were given up are not known: ${gaps.problem.detail}` },
      }),
  )
}

const LIST = 'GET /v1/disclosures'
const asking: GlanceAnswer = { tone: 'idle', answer: 'Asking', detail: '' }
const notToSee: GlanceAnswer = {
  tone: 'idle',
  answer: 'Not shown',
  detail: 'Delays are shown to sessions with the scope events:read.',
}

function givenUpGaps(events: readonly (DisclosureEvent | GapEvent)[]): KnownGap[] {
  return knownGaps(events.filter(isGapEvent), null).filter(({ state }) => state === 'given_up')
}

function Answer({
  question,
  given: { tone, answer, detail },
}: {
  question: string
  given: GlanceAnswer
}): ComponentChildren {
  return h(
    'div',
    { class: `glance-answer glance-${tone}` },
    h('h2', null, question),
    h('p', { class: 'glance-word' }, h(StateShape, { tone }), ' ', answer),
    h('p', { class: 'glance-detail' }, detail),
  )
}
