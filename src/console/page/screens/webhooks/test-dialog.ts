/** Sends a test event to an endpoint and shows the whole answer. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.ts'
import { elapsedWords } from '../../parts/elapsed.ts'
import { ChoiceField } from '../../parts/forms/fields.ts'
import type { TestAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote, StateMark } from '../../parts/state.ts'
import { visibleLines } from '../../parts/text.ts'
import type { ApiResult } from '../../shell/api.ts'
import { useConsole } from '../../shell/services.ts'
import { adviceOn, attemptState } from './endpoint-words.ts'

const kinds = [
  ['', 'a test event'],
  ['published', 'one like an announcement'],
  ['amended', 'one like an amendment'],
  ['gap', 'one like a gap'],
] as const

/** The dialog. */
export function TestDialog({ id, onClose }: { id: string; onClose: () => void }): ComponentChildren {
  const { api } = useConsole()
  const [kind, setKind] = useState('')
  const [result, setResult] = useState<ApiResult<TestAnswer> | null>(null)
  const [isSending, setSending] = useState(false)
  const send = async (): Promise<void> => {
    setSending(true)
    setResult(null)
    const type = kind === '' ? null : kind
    const answer = await api.ask('POST /v1/webhooks/{id}/test', { with: { id, type } })
    setSending(false)
    setResult(answer)
  }
  return h(
    Dialog,
    { title: 'Send a test', onClose },
    h(
      'p',
      { class: 'hint' },
      'Sent once, also to a paused endpoint. It is signed as every webhook, and says that it is a test.',
    ),
    h(ChoiceField, { label: 'What is sent', options: kinds, value: kind, onValue: setKind }),
    h(
      'div',
      { class: 'buttons' },
      h(
        'button',
        { type: 'button', class: 'primary', disabled: isSending, onClick: () => void send() },
        isSending ? 'Waiting for the answer …' : 'Send it',
      ),
      h('button', { type: 'button', onClick: onClose }, 'Close'),
    ),
    h('div', { 'aria-live': 'polite' }, result !== null && h(Outcome, { result })),
  )
}

function Outcome({ result }: { result: ApiResult<TestAnswer> }): ComponentChildren {
  if (!result.ok) return h(ProblemNote, { problem: result.problem })
  const { status, durationMs, webhookId, response, outcome } = result.value
  const state = attemptState(result.value)
  const advice = adviceOn(result.value)
  const facts: [string, ComponentChildren][] = [
    ['Outcome', h(StateMark, { tone: state.tone }, h('strong', null, state.text))],
    ['Status', status ?? 'no answer'],
    ['Took', elapsedWords(durationMs)],
    ['webhook-id', h('code', null, webhookId)],
  ]
  return h(
    'div',
    { class: 'stack' },
    h(
      'dl',
      { class: 'facts' },
      facts.map(([name, value]) => [h('dt', { key: name }, name), h('dd', { key: `${name} value` }, value)]),
    ),
    advice !== '' && h('p', null, advice),
    response !== null && response !== ''
      ? h(
          'pre',
          { class: 'answer', tabIndex: 0, role: 'region', 'aria-label': 'Body of the answer' },
          h('code', null, visibleLines(response)),
        )
      : h(
          'p',
          { class: 'hint' },
          outcome === 'ok' ? 'The bodies of successes are not kept.' : 'It had no body.',
        ),
  )
}
