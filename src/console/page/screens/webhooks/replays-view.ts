/** Lists the replays of an endpoint that are not over, with their progress, and ends them. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { counted } from '../../parts/elapsed.ts'
import { useChanges } from '../../parts/forms/changes.ts'
import { ListTable } from '../../parts/lists/list-table.ts'
import type { Column } from '../../parts/lists/scroll-table.ts'
import type { EndpointAnswer, ReplayAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote, StateMark } from '../../parts/state.ts'
import { Moment } from '../../parts/times.ts'
import type { ApiProblem } from '../../shell/api.ts'
import { useAnswer } from '../../shell/polling.ts'
import { useConsole } from '../../shell/services.ts'

const EVERY_MS = 2000

const columns: readonly Column[] = [
  { name: 'Asked for', kind: 'word' },
  { name: 'Sends' },
  { name: 'State', kind: 'word' },
  { name: 'Progress' },
  { name: 'Actions', kind: 'actions' },
]

const sends: Readonly<Record<ReplayAnswer['only'], string>> = {
  all: 'what the filter matches',
  dead: 'what was given up',
  ids: 'chosen events',
}

/** The list. */
export function ReplaysView({ endpoint: { id, status } }: { endpoint: EndpointAnswer }): ComponentChildren {
  const { api } = useConsole()
  const changes = useChanges('webhooks:replay')
  const [problem, setProblem] = useState<ApiProblem | null>(null)
  const replays = useAnswer('GET /v1/webhooks/{id}/replays', { with: { id } }, EVERY_MS)
  const cancel = async (replayId: string): Promise<void> => {
    const result = await api.ask('DELETE /v1/webhooks/{id}/replays/{replayId}', { with: { id, replayId } })
    setProblem(result.ok ? null : result.problem)
    replays.reload()
  }
  const shown = replays.problem ?? problem
  return [
    shown !== null && h(ProblemNote, { key: 'problem', problem: shown }),
    status !== 'active' &&
      h('p', { key: 'rests', class: 'hint' }, 'The endpoint is not active: replays wait until it is.'),
    replays.value !== null &&
      (replays.value.data.length === 0
        ? h('p', { key: 'none' }, 'No replay is under way. What one has sent stands among the attempts.')
        : h(ListTable, {
            key: 'list',
            label: 'List of replays',
            columns,
            rows: replays.value.data.map((replay) => ({
              key: replay.id,
              cells: cellsOf(replay, () => changes.attempt(() => void cancel(replay.id))),
            })),
          })),
    h('div', { key: 'unlock' }, changes.dialog),
  ]
}

function cellsOf(replay: ReplayAnswer, onCancel: () => void): ComponentChildren[] {
  const { createdAt, count, state, only } = replay
  return [
    h(Moment, { iso: createdAt }),
    count === null ? sends[only] : `${counted(count, 'event')}: ${sends[only]}`,
    h(StateMark, { tone: state === 'running' ? 'good' : 'idle' }, state === 'running' ? 'runs' : 'waits'),
    h(Progress, { replay }),
    h('button', { type: 'button', class: 'danger', onClick: onCancel }, 'End the replay'),
  ]
}

function Progress({ replay: { progress, state } }: { replay: ReplayAnswer }): ComponentChildren {
  if (progress === null) return state === 'waiting' ? 'behind those before it' : 'not known'
  const percent = Math.floor(progress * 100)
  return h(
    'span',
    { class: 'progress' },
    h('progress', { max: 1, value: progress, 'aria-label': 'Part of its window' }),
    ` ${percent} % of its window`,
  )
}
