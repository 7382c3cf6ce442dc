/** Ends an open stream, after it was said what that does to its client. */
import { type ComponentChildren, h } from 'preact'
import { Confirm } from '../../parts/forms/confirm.ts'
import type { StreamAnswer } from '../../parts/managing-answers.ts'
import { Foreign } from '../../parts/text.ts'
import { Moment } from '../../parts/times.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole } from '../../shell/services.ts'
import { transportWords } from './stream-table.ts'

/** The dialog. */
export function EndStream({
  stream,
  onEnded,
  onClose,
}: {
  stream: StreamAnswer
  onEnded: () => void
  onClose: () => void
}): ComponentChildren {
  const { api } = useConsole()
  const isWebSocket = stream.transport === 'ws'
  return h(
    Confirm<unknown>,
    {
      title: 'End this stream?',
      yes: 'End the stream',
      no: 'Leave it open',
      run: () => api.ask('DELETE /v1/streams/{id}', { with: { id: stream.id } }),
      onDone: onEnded,
      onClose,
    },
    h(
      'p',
      null,
      `${transportWords(stream.transport)} of `,
      h(Foreign, { text: stream.token?.name ?? stream.token?.id ?? 'nobody yet' }),
      ', open since ',
      h(Moment, { iso: stream.openedAt }),
      '.',
    ),
    h(
      'ul',
      { class: 'consequences' },
      h(
        'li',
        null,
        isWebSocket
          ? 'It is closed with 4007, which tells its client not to connect again.'
          : 'Its answer ends. A browser opens it again after three seconds.',
      ),
      h('li', null, 'Its client loses nothing: it can resume behind its last event.'),
      h('li', null, 'To keep the client out, ', h('a', { href: hrefOf('tokens') }, 'delete its token'), '.'),
    ),
  )
}
