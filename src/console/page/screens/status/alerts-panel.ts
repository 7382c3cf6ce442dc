/** Lists the alerts whose condition holds now, each with what to do and its runbook. */
import { type ComponentChildren, h } from 'preact'
import { CopyButton } from '../../parts/copy.ts'
import { isGapEvent } from '../../parts/gaps.ts'
import { ProblemNote, StateMark } from '../../parts/state.ts'
import { visibleText } from '../../parts/text.ts'
import { millisOf } from '../../parts/times.ts'
import type { StatusAnswer } from '../../shell/answers.ts'
import { useAnswer } from '../../shell/polling.ts'
import { useConsole } from '../../shell/services.ts'
import { alertsJudgedBy, type OpenAlert, openAlerts, runbookOf } from './alert-rules.ts'

const GAPS_EVERY_MS = 60_000
const NODES_EVERY_MS = 15_000
const NEWEST_GAPS = 200

/** The panel. `nowMs`: when the status was true; `isOld`: the bridge has not answered the last request for it. */
export function AlertsPanel({
  status,
  nowMs,
  isOld,
}: {
  status: StatusAnswer
  nowMs: number
  isOld: boolean
}): ComponentChildren {
  const { session } = useConsole()
  const mayReadNodes = session.mayRead('admin')
  const nodes = useAnswer(mayReadNodes ? 'GET /v1/nodes' : null, {}, NODES_EVERY_MS)
  const mayReadGaps = session.mayRead('events:read')
  const gaps = useAnswer(
    mayReadGaps ? 'GET /v1/disclosures' : null,
    { with: { types: 'gap', tail: NEWEST_GAPS } },
    GAPS_EVERY_MS,
  )
  const givenUpMs =
    gaps.value?.data
      .filter((event) => isGapEvent(event) && event.type === 'bridge.gap.given_up.v1')
      .flatMap(({ recordedtime }) => millisOf(recordedtime) ?? []) ?? null
  const facts = { status, nodes: nodes.value?.data ?? null, givenUpMs, nowMs }
  const open = openAlerts(facts)
  const problem = nodes.problem ?? gaps.problem
  const isAsking = (mayReadNodes && facts.nodes === null) || (mayReadGaps && givenUpMs === null)
  return h(
    'section',
    { class: 'panel panel-wide alerts', 'aria-label': 'Alerts' },
    h('h2', null, 'Alerts'),
    open.length > 0
      ? h('ul', { class: 'plain' }, open.map(alertRow))
      : h(
          'p',
          null,
          isOld || problem !== null
            ? h(StateMark, { tone: 'notice' }, 'None by what was known last.')
            : isAsking
              ? h(StateMark, { tone: 'idle' }, 'Asking …')
              : h(StateMark, { tone: 'good' }, 'None.'),
        ),
    problem !== null && h(ProblemNote, { problem }),
    h(
      'p',
      { class: 'hint' },
      `Judged here, at once, by nearly the same limits: ${alertsJudgedBy(facts).join(', ')}. Prometheus waits before it sends them, and judges others by its history: deploy/monitoring/rules.`,
    ),
  )
}

function alertRow({ name, severity, summary, todo }: OpenAlert): ComponentChildren {
  const runbook = runbookOf(name)
  return h(
    'li',
    { key: name },
    h(StateMark, { tone: severity === 'page' ? 'bad' : 'notice' }, h('strong', null, name)),
    severity === 'page' ? ' (look now) ' : ' (look soon) ',
    `${visibleText(summary)} ${todo} Runbook: `,
    h('code', { class: 'code' }, runbook),
    ' ',
    h(CopyButton, { text: runbook, what: 'the place of its runbook' }),
  )
}
