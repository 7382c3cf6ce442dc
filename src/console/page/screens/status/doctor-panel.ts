/** Shows what the doctor finds from inside the node that answers, what is wrong first. */
import { type ComponentChildren, h } from 'preact'
import { bridgeCommand } from '../../parts/command.ts'
import type { DoctorAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote, StateMark, type StateTone } from '../../parts/state.ts'
import { visibleText } from '../../parts/text.ts'
import { useAnswer } from '../../shell/polling.ts'
import { useConsole } from '../../shell/services.ts'

/** It looks at files. */
const EVERY_MS = 60_000

type Finding = DoctorAnswer['data'][number]

const levels: Readonly<Record<Finding['level'], readonly [StateTone, string]>> = {
  fail: ['bad', 'fails'],
  warn: ['notice', 'warns'],
  ok: ['good', 'fine'],
}

/** The panel. */
export function DoctorPanel(): ComponentChildren {
  const { session } = useConsole()
  const mayRead = session.mayRead('admin')
  const { value, problem } = useAnswer(mayRead ? 'GET /v1/doctor' : null, {}, EVERY_MS)
  const wrong = (value?.data ?? []).filter(({ level }) => level !== 'ok')
  const fine = (value?.data ?? []).filter(({ level }) => level === 'ok')
  return h(
    'section',
    { class: 'panel panel-wide', 'aria-label': 'Doctor' },
    h('h2', null, 'What the doctor says'),
    !mayRead && h('p', { class: 'hint' }, 'Findings are shown to sessions with BRIDGE_ADMIN_TOKEN.'),
    problem !== null && h(ProblemNote, { problem }),
    mayRead && value === null && problem === null && h('p', { 'aria-busy': 'true' }, 'Asking …'),
    value?.reason != null && h('p', { class: 'hint' }, visibleText(value.reason)),
    value !== null &&
      value.data.length > 0 &&
      wrong.length === 0 &&
      h(
        'p',
        null,
        problem === null
          ? h(StateMark, { tone: 'good' }, 'Nothing to do.')
          : h(StateMark, { tone: 'notice' }, 'Nothing to do by what was known last.'),
      ),
    wrong.length > 0 && h('ul', { class: 'plain' }, wrong.map(row)),
    fine.length > 0 &&
      h(
        'details',
        null,
        h('summary', null, `${fine.length} checks found nothing wrong`),
        h('ul', { class: 'plain' }, fine.map(row)),
      ),
    h(
      'p',
      { class: 'hint' },
      'On the machine of the bridge, ',
      h('code', null, `${bridgeCommand()} doctor`),
      ' also asks the upstream and Kafka. ',
      h('code', null, '/metrics'),
      ' on the operations port has every figure of this page and more, for alerts.',
    ),
  )
}

function row({ level, name, finding, todo }: Finding, index: number): ComponentChildren {
  const [tone, word] = levels[level]
  return h(
    'li',
    { key: index },
    h(StateMark, { tone }, `${name} ${word}: `),
    visibleText(finding),
    todo === null ? '' : [' → ', h('strong', null, visibleText(todo))],
  )
}
