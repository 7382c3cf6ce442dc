/** Shows the settings of an endpoint and changes them; rotates its secret, disables and deletes it. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton } from '../../parts/copy.ts'
import type { Changes } from '../../parts/forms/changes.ts'
import type { EndpointAnswer, EndpointWithSecret } from '../../parts/managing-answers.ts'
import { Foreign } from '../../parts/text.ts'
import { Moment } from '../../parts/times.ts'
import { EditEndpoint } from './edit-endpoint.ts'
import { DeleteEndpoint, DisableEndpoint, RotateSecret } from './endpoint-dialogs.ts'
import { FilterWords } from './endpoint-form.ts'
import { MaskedHeaders } from './header-fields.ts'

/** What the settings need. */
export interface EndpointSettingsProps {
  endpoint: EndpointAnswer
  changes: Changes
  reload: () => void
  onSecret: (made: EndpointWithSecret | null) => void
}

/** The settings. */
export function EndpointSettings({
  endpoint,
  changes,
  reload,
  onSecret,
}: EndpointSettingsProps): ComponentChildren {
  const [isEditing, setEditing] = useState(false)
  const [open, setOpen] = useState<'rotate' | 'disable' | 'delete' | null>(null)
  if (isEditing) {
    return h(EditEndpoint, { id: endpoint.id, changes, reload, onDone: () => setEditing(false) })
  }
  const close = (): void => setOpen(null)
  const button = (words: string, run: () => void, look = ''): ComponentChildren =>
    h('button', { type: 'button', class: look, onClick: () => changes.attempt(run) }, words)
  return [
    h(Facts, { key: 'facts', endpoint }),
    h(
      'div',
      { key: 'buttons', class: 'buttons' },
      button('Change the settings', () => setEditing(true)),
      button('Rotate the secret', () => setOpen('rotate')),
      endpoint.status !== 'disabled' && button('Disable', () => setOpen('disable'), 'danger'),
      button('Delete', () => setOpen('delete'), 'danger'),
    ),
    open === 'rotate' && h(RotateSecret, { key: 'rotate', endpoint, onClose: close, onSecret }),
    open === 'disable' && h(DisableEndpoint, { key: 'disable', endpoint, onClose: close, onDone: reload }),
    open === 'delete' && h(DeleteEndpoint, { key: 'delete', endpoint, onClose: close }),
  ]
}

function Facts({ endpoint }: { endpoint: EndpointAnswer }): ComponentChildren {
  const [isShown, setShown] = useState(false)
  const { id, tenant, url, filter, headers, maxConcurrency, rateLimit, maxBatch, order, createdAt } = endpoint
  const facts: [string, ComponentChildren][] = [
    [
      'URL',
      [h(Foreign, { text: url, class: 'foreign code' }), ' ', h(CopyButton, { text: url, what: 'the URL' })],
    ],
    ['Events', h(FilterWords, { filter })],
    ['Own headers', h(MaskedHeaders, { headers, isShown, onShow: setShown })],
    ['At a time', `${maxConcurrency} deliveries`],
    ['A second', rateLimit === null ? 'as many as it takes' : `${rateLimit} deliveries`],
    ['A request has', maxBatch === null ? 'one event' : `up to ${maxBatch} events, in an array`],
    ['Order', order === 'issuer' ? 'events of one issuer one after the other' : 'as fast as possible'],
    ['Made', h(Moment, { iso: createdAt })],
    ['Tenant', h(Foreign, { text: tenant })],
    ['Id', [h('code', null, id), ' ', h(CopyButton, { text: id, what: 'the id' })]],
    ['Secret', 'was shown once; rotate it to get another'],
  ]
  return h(
    'dl',
    { class: 'facts' },
    facts.map(([name, value]) => [h('dt', { key: name }, name), h('dd', { key: `${name} value` }, value)]),
  )
}
