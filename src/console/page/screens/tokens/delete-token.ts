/** Deletes a token, after it was said what that ends. */
import { type ComponentChildren, h } from 'preact'
import { counted } from '../../parts/elapsed.ts'
import { Confirm } from '../../parts/forms/confirm.ts'
import type { TokenAnswer } from '../../parts/managing-answers.ts'
import { Foreign } from '../../parts/text.ts'
import { useAnswer } from '../../shell/polling.ts'
import { useConsole } from '../../shell/services.ts'

const MOST_STREAMS = 1000

/** The dialog. `isOwn`: it is the token of this session. */
export function DeleteToken({
  token,
  isOwn,
  onDeleted,
  onClose,
}: {
  token: TokenAnswer
  isOwn: boolean
  onDeleted: () => void
  onClose: () => void
}): ComponentChildren {
  const { api } = useConsole()
  return h(
    Confirm<unknown>,
    {
      title: 'Delete this token?',
      yes: 'Delete the token',
      no: 'Keep it',
      run: () => api.ask('DELETE /v1/tokens/{id}', { with: { id: token.id } }),
      onDone: onDeleted,
      onClose,
    },
    h(
      'p',
      null,
      h('strong', null, h(Foreign, { text: token.name ?? token.id })),
      ' of tenant ',
      h(Foreign, { text: token.tenant }),
    ),
    h(
      'ul',
      { class: 'consequences' },
      h('li', null, 'Within a second no node takes it any more. It cannot be brought back.'),
      h(EndsStreams, { tokenId: token.id }),
      h('li', null, 'Browser sessions that it began end.'),
      h('li', null, 'Webhooks and tokens that it made stay.'),
      isOwn && h('li', null, h('strong', null, 'It is the token of this session: you will be signed out.')),
    ),
  )
}

/** How many streams end with it, as far as the node that answers knows. */
function EndsStreams({ tokenId }: { tokenId: string }): ComponentChildren {
  const { session } = useConsole()
  const mayRead = session.mayRead('events:read')
  const { value } = useAnswer(mayRead ? 'GET /v1/streams' : null, { with: { limit: MOST_STREAMS } }, null)
  const mine = value?.data.filter(({ token }) => token?.id === tokenId) ?? []
  if (value === null) return h('li', null, 'Streams that it opened end.')
  const more = value.next === null ? '' : ' at least'
  return h(
    'li',
    null,
    mine.length === 0
      ? 'It has no open stream on the node that answers; on others they end too.'
      : `Ends ${counted(mine.length, 'open stream')}${more} on the node that answers, and those on others.`,
  )
}
