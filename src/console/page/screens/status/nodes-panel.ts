/** Lists the processes of the bridge, with what they do and how far their copies are. */
import { type ComponentChildren, h } from 'preact'
import { ScrollTable } from '../../parts/lists/scroll-table.ts'
import { ProblemNote, StateMark, type StateTone } from '../../parts/state.ts'
import { Foreign } from '../../parts/text.ts'
import { inWords, Moment } from '../../parts/times.ts'
import type { NodesAnswer } from '../../shell/answers.ts'
import { useAnswer } from '../../shell/polling.ts'
import { useConsole } from '../../shell/services.ts'

type Node = NodesAnswer['data'][number]

/** The panel; nothing for a token that may not see it. */
export function NodesPanel(): ComponentChildren {
  const { session } = useConsole()
  const mayRead = session.mayRead('admin')
  const { value, problem } = useAnswer(mayRead ? 'GET /v1/nodes' : null)
  if (!mayRead) return null
  return h(
    'section',
    { class: 'panel panel-wide', 'aria-label': 'Nodes' },
    h('h2', null, 'Nodes'),
    problem !== null && h(ProblemNote, { problem }),
    value !== null && h(NodeTable, { nodes: value.data }),
    value?.next != null && h('p', { class: 'hint' }, 'There are more; GET /v1/nodes lists all.'),
  )
}

const states: Readonly<Record<Node['state'], readonly [StateTone, string]>> = {
  up: ['good', 'up'],
  stopped: ['idle', 'stopped'],
  gone: ['bad', 'gone'],
}

const columns = ['Node', 'State', 'Does', 'Version', 'Started', 'Its copy', 'Last seen']

function NodeTable({ nodes }: { nodes: readonly Node[] }): ComponentChildren {
  return h(
    ScrollTable,
    { label: 'Table of nodes', columns },
    nodes.map((node) => h(NodeRow, { key: node.id, node })),
  )
}

function NodeRow({ node }: { node: Node }): ComponentChildren {
  const { id, self, state, leads, roles, version, startedAt, lastSeen, copy } = node
  const [tone, word] = states[state]
  return h(
    'tr',
    null,
    h(
      'td',
      null,
      h(Foreign, { text: id, class: 'code' }),
      leads === true && [' ', h('span', { class: 'tag' }, 'leads')],
      self && [' ', h('span', { class: 'tag' }, 'this node')],
    ),
    h('td', null, h(StateMark, { tone }, word)),
    h('td', null, h(Foreign, { text: roles.join(', ') })),
    h('td', null, h(Foreign, { text: version })),
    h('td', null, h(Moment, { iso: startedAt })),
    h(
      'td',
      null,
      copy.filled < 1
        ? `being filled: ${Math.floor(copy.filled * 100)} %`
        : copy.lagEvents === 0
          ? 'has everything'
          : `${copy.lagEvents} events, ${inWords(copy.lagSeconds * 1000)} behind`,
    ),
    h('td', null, h(Moment, { iso: lastSeen })),
  )
}
