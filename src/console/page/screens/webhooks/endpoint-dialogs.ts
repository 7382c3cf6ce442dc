/** Asks before an endpoint gets another secret, is disabled or is deleted, and says what that does. */
import { type ComponentChildren, h } from 'preact'
import { Confirm } from '../../parts/forms/confirm.ts'
import type { EndpointAnswer, EndpointWithSecret } from '../../parts/managing-answers.ts'
import { Foreign } from '../../parts/text.ts'
import { shortMoment } from '../../parts/times.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole, useNow } from '../../shell/services.ts'

/** How long the secret before goes on signing. */
const OVERLAP_MS = 24 * 3_600_000

interface DialogProps {
  endpoint: EndpointAnswer
  onClose: () => void
}

/** Gives the endpoint a new secret. */
export function RotateSecret({
  endpoint: { id },
  onClose,
  onSecret,
}: DialogProps & { onSecret: (made: EndpointWithSecret) => void }): ComponentChildren {
  const { api } = useConsole()
  return h(
    Confirm<EndpointWithSecret>,
    {
      title: 'Rotate the secret?',
      yes: 'Rotate it',
      no: 'Leave it',
      onClose,
      run: () => api.ask('POST /v1/webhooks/{id}/rotate', { with: { id } }),
      onDone: (made) => {
        onSecret(made)
        onClose()
      },
    },
    h(
      'p',
      null,
      'The new secret is shown once. For 24 hours every request carries both signatures, so the receiver can change at any time.',
    ),
    h(Overlap, null),
    h(
      'p',
      { class: 'hint' },
      'At most four secrets sign at once; a fifth rotation within a day ends the oldest early.',
    ),
  )
}

/** Both secrets over the next 36 hours. */
function Overlap(): ComponentChildren {
  const nowMs = useNow()
  const end = shortMoment(nowMs + OVERLAP_MS, nowMs)
  const bar = (name: string, x: number, width: number, y: number): ComponentChildren => [
    h('rect', { class: `overlap-${name}`, x, y, width, height: 18, rx: 3 }),
    h('text', { x: x + 8, y: y + 13 }, name === 'old' ? 'present secret' : 'new secret'),
  ]
  return h(
    'figure',
    { class: 'overlap' },
    h(
      'svg',
      {
        viewBox: '0 0 600 66',
        role: 'img',
        'aria-label': `The present secret signs until ${end}, the new one from now on`,
      },
      bar('old', 0, 450, 4),
      bar('new', 120, 480, 28),
      h('line', { x1: 120, x2: 120, y1: 0, y2: 50 }),
      h('line', { x1: 450, x2: 450, y1: 0, y2: 50 }),
      h('text', { class: 'overlap-time', x: 120, y: 63, 'text-anchor': 'middle' }, 'now'),
      h('text', { class: 'overlap-time', x: 450, y: 63, 'text-anchor': 'middle' }, end),
    ),
  )
}

/** Stops the endpoint. */
export function DisableEndpoint({
  endpoint: { id },
  onClose,
  onDone,
}: DialogProps & { onDone: () => void }): ComponentChildren {
  const { api } = useConsole()
  return h(
    Confirm<unknown>,
    {
      title: 'Disable this webhook?',
      yes: 'Disable it',
      no: 'Leave it',
      onClose,
      run: () => api.ask('POST /v1/webhooks/{id}/disable', { with: { id } }),
      onDone: () => {
        onDone()
        onClose()
      },
    },
    h('p', null, 'Nothing is sent until it is resumed. Its place is kept, as far back as the log is kept.'),
  )
}

/** Deletes the endpoint. */
export function DeleteEndpoint({ endpoint, onClose }: DialogProps): ComponentChildren {
  const { api, router } = useConsole()
  const { id, description, url, health } = endpoint
  return h(
    Confirm<unknown>,
    {
      title: 'Delete this webhook?',
      yes: 'Delete it',
      no: 'Keep it',
      onClose,
      run: () => api.ask('DELETE /v1/webhooks/{id}', { with: { id } }),
      onDone: () => {
        onClose()
        router.go(hrefOf('webhooks'))
      },
    },
    h('p', null, h('strong', null, h(Foreign, { text: description ?? url, class: 'wrap' }))),
    h(
      'ul',
      { class: 'consequences' },
      h(
        'li',
        null,
        health.pending === null || health.pending === 0
          ? 'Nothing waits to be delivered.'
          : `What waits is not delivered: ${health.pending} events.`,
      ),
      h('li', null, 'Its secret, attempts and replays are gone. It cannot be brought back.'),
    ),
  )
}
