/** Shows what each plan of the upstream would give; the bridge computes it when it is asked for, which takes seconds. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { ScrollTable } from '../../parts/lists/scroll-table.ts'
import { ProblemNote } from '../../parts/state.ts'
import { useAnswer } from '../../shell/polling.ts'
import { type ComparedAnswer, percent, planSentence, secondsWords } from './quota-words.ts'

/** The bridge computes for seconds, on a busy machine for longer. */
const LIMIT_MS = 120_000
const columns = [
  'Plan',
  ...[
    'Units a week',
    'Polls a week',
    'Mean delay',
    'If spread evenly',
    'Longest wait',
    'Risk of a full page',
  ].map((name) => ({ name, kind: 'number' as const })),
]

/** The comparison. `present`: the name of the plan in use. */
export function PlanComparison({ present }: { present: string }): ComponentChildren {
  const [isAsked, setAsked] = useState(false)
  const answer = useAnswer(
    isAsked ? 'GET /v1/quota' : null,
    { with: { compare: true }, limitMs: LIMIT_MS },
    null,
  )
  const plans = answer.value?.comparison?.plans
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'plans' },
    h('h2', { id: 'plans' }, 'Other plans'),
    !isAsked &&
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'button', onClick: () => setAsked(true) }, 'Compare the plans'),
      ),
    answer.problem !== null && h(ProblemNote, { problem: answer.problem }),
    isAsked &&
      plans === undefined &&
      answer.problem === null &&
      h('p', { role: 'status' }, 'The bridge plans a week on each plan; this takes some seconds.'),
    plans !== undefined && [
      h(Sentences, { key: 'words', plans, present }),
      h(Table, { key: 'table', plans, present }),
    ],
  )
}

type Shown = { plans: readonly ComparedAnswer[]; present: string }

function Sentences({ plans, present }: Shown): ComponentChildren {
  const now = plans.find(({ plan }) => plan === present)
  return h(
    'ul',
    { class: 'plain' },
    // What is in use comes first: the others are measured against it.
    [...plans.filter((plan) => plan === now), ...plans.filter((plan) => plan !== now)].map((plan) =>
      h('li', { key: plan.plan }, planSentence(plan, now)),
    ),
  )
}

function Table({ plans, present }: Shown): ComponentChildren {
  return h(
    ScrollTable,
    { label: 'Plans compared', columns },
    plans.map((plan) =>
      h(
        'tr',
        { key: plan.plan },
        h('th', { scope: 'row' }, plan.plan === present ? `${plan.plan} (now)` : plan.plan),
        [
          plan.weeklyQuota.toLocaleString('en-GB'),
          plan.polls.toLocaleString('en-GB'),
          secondsWords(plan.meanDelayS),
          secondsWords(plan.evenMeanDelayS),
          secondsWords(plan.worstDelayS),
          percent(plan.overflowRisk),
        ].map((text, index) => h('td', { key: index, class: 'number' }, text)),
      ),
    ),
  )
}
