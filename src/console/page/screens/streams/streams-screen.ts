/** Who reads live: the streams that are open on the node that answers, and the consumer groups of Kafka. Ends streams. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { ChangesNote, useChanges } from '../../parts/forms/changes.ts'
import type { StreamAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote } from '../../parts/state.ts'
import { Foreign } from '../../parts/text.ts'
import type { ScreenProps } from '../../shell/navigation.ts'
import { useAnswer } from '../../shell/polling.ts'
import { useTitle } from '../../shell/services.ts'
import { useStore } from '../../shell/store.ts'
import { ConsumersPanel } from './consumers-panel.ts'
import { EndStream } from './end-stream.ts'
import { StreamTable } from './stream-table.ts'
import { useTrends } from './use-trends.ts'

const EVERY_MS = 3000
const LIMIT = 200

/** The screen. */
export function StreamsScreen({ session }: ScreenProps): ComponentChildren {
  useTitle('Streams')
  return h(
    'div',
    { class: 'stack' },
    h('h1', null, 'Streams'),
    session.mayRead('events:read')
      ? h(OpenStreams, { session })
      : h('p', { class: 'note' }, 'Open streams are shown to sessions with the scope events:read.'),
    h(ConsumersPanel, null),
  )
}

function OpenStreams({ session }: Pick<ScreenProps, 'session'>): ComponentChildren {
  const signedIn = useStore(session.current)
  const changes = useChanges('events:read')
  const { value, atMs, problem, reload } = useAnswer('GET /v1/streams', { with: { limit: LIMIT } }, EVERY_MS)
  const [ending, setEnding] = useState<StreamAnswer | null>(null)
  const streams = value?.data ?? []
  const trendOf = useTrends(
    atMs,
    streams.map(({ id, subscriptions }) => [id, sumOf(subscriptions)] as const),
  )
  const ownId = signedIn.state === 'signed_in' ? signedIn.me.tokenId : null
  const mayEnd = ({ token }: StreamAnswer): boolean => session.mayRead('admin') || token?.id === ownId
  return h(
    'section',
    { class: 'panel panel-wide', 'aria-label': 'Open streams' },
    h('h2', null, 'Open streams'),
    value !== null &&
      h(
        'p',
        { class: 'hint' },
        'Those of the node that answers, ',
        h(Foreign, { text: value.node, class: 'code' }),
        '; every node lists its own. Asked every three seconds.',
      ),
    h(ChangesNote, { changes, what: 'streams' }),
    problem !== null && h(ProblemNote, { problem }),
    value !== null && streams.length === 0 && h('p', null, 'No stream is open on this node.'),
    streams.length > 0 &&
      h(StreamTable, {
        streams,
        trendOf,
        mayEnd,
        onEnd: (stream) => changes.attempt(() => setEnding(stream)),
      }),
    value?.next != null && h('p', { class: 'hint' }, `Only the first ${LIMIT} are shown.`),
    changes.dialog,
    ending !== null &&
      h(EndStream, {
        stream: ending,
        onClose: () => setEnding(null),
        onEnded: () => {
          setEnding(null)
          reload()
        },
      }),
  )
}

function sumOf(subscriptions: StreamAnswer['subscriptions']): number | null {
  return subscriptions.reduce<number | null>(
    (sum, { lagEvents }) => (sum === null || lagEvents === null ? null : sum + lagEvents),
    0,
  )
}
