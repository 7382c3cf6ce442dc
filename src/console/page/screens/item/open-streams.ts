/** Shows how far the open streams of this node have come with an event. */
import { type ComponentChildren, h } from 'preact'
import type { EventAnswer } from '../../parts/reading-answers.ts'
import { useAnswer } from '../../shell/polling.ts'
import { hrefOf } from '../../shell/router.ts'
import { streamWords } from './delivery-words.ts'

const EVERY_MS = 15_000
const MOST_STREAMS = 1000

/** The station of the streams. */
export function OpenStreams({ event }: { event: EventAnswer }): ComponentChildren {
  const streams = useAnswer('GET /v1/streams', { with: { limit: MOST_STREAMS } }, EVERY_MS)
  const shown = streams.value
  const sequences = (shown?.data ?? []).flatMap(({ subscriptions }) =>
    subscriptions.map(({ sequence }) => sequence),
  )
  return h(
    'li',
    { class: 'station' },
    h('h3', null, 'Streams'),
    h(
      'p',
      shown === null && streams.problem === null ? { 'aria-busy': 'true' } : null,
      shown !== null
        ? streamWords(sequences, Number(event.sequence))
        : streams.problem !== null
          ? `Not shown: ${streams.problem.detail}`
          : 'Asking …',
    ),
    shown !== null &&
      sequences.length > 0 &&
      h(
        'p',
        null,
        h('a', { href: hrefOf('streams') }, 'Who they are'),
        '. A filter may have kept it from them.',
      ),
  )
}
