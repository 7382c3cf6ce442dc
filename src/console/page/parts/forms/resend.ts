/** Sends one event to an endpoint again. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiProblem } from '../../shell/api.ts'
import { useConsole } from '../../shell/services.ts'
import { ProblemNote } from '../state.ts'
import { type Changes, ChangesNote } from './changes.ts'
import { useIntent } from './intent.ts'

/** The button, and what came of it. `status`: the endpoint's; `to`: its name, where the screen shows several. */
export function Resend({
  endpointId,
  status,
  eventId,
  changes,
  to,
}: {
  endpointId: string
  status: string
  eventId: string
  changes: Changes
  to?: string
}): ComponentChildren {
  const { api } = useConsole()
  const [said, setSaid] = useState('')
  const [problem, setProblem] = useState<ApiProblem | null>(null)
  const [isSending, setSending] = useState(false)
  const intent = useIntent()
  const send = async (): Promise<void> => {
    setSaid('Asking …')
    setSending(true)
    const body = { ids: [eventId] }
    const result = await api.ask('POST /v1/webhooks/{id}/replay', {
      with: { id: endpointId },
      headers: intent.headersFor([endpointId, body]),
      body,
    })
    intent.answered(result)
    setSending(false)
    setProblem(result.ok ? null : result.problem)
    setSaid(result.ok ? resentWords(status) : '')
  }
  return [
    h(
      'div',
      { key: 'buttons', class: 'buttons' },
      h(
        'button',
        {
          type: 'button',
          disabled: isSending,
          onClick: () => changes.attempt(() => void send()),
          'aria-label': to === undefined ? undefined : `Resend to ${to}`,
        },
        to === undefined ? 'Resend this event' : 'Resend',
      ),
      h('span', { class: 'hint', role: 'status' }, said),
    ),
    changes.may === 'never' && h(ChangesNote, { key: 'note', changes, what: 'deliveries' }),
    problem !== null && h(ProblemNote, { key: 'problem', problem }),
  ]
}

/** What becomes of an event that was asked for again, also of one that the filter leaves out. `status`: the endpoint's. */
export function resentWords(status: string): string {
  return status === 'active' ? 'It is sent again now.' : 'It will be sent again when the webhook is active.'
}
