/** Sends a window of events to an endpoint again: first counts them, and only then offers to send them. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.ts'
import { counted } from '../../parts/elapsed.ts'
import { ChangesNote, useChanges } from '../../parts/forms/changes.ts'
import { errorOf, problemBeside, TextField } from '../../parts/forms/fields.ts'
import { useIntent } from '../../parts/forms/intent.ts'
import { londonInput, londonMs } from '../../parts/forms/london-input.ts'
import type { EndpointAnswer, ReplayCountAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote } from '../../parts/state.ts'
import { millisOf } from '../../parts/times.ts'
import type { ApiProblem, ApiResult } from '../../shell/api.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole, useUpstreamClock } from '../../shell/services.ts'
import { countWords } from './endpoint-words.ts'
import { WindowLine } from './window-line.ts'

const HOUR_MS = 3_600_000
const TYPING_MS = 400
/** Counting takes three seconds at most, the question after dead deliveries ten. */
const COUNT_LIMIT_MS = 20_000

/** The dialog. */
export function ReplayDialog({
  endpoint,
  onClose,
}: {
  endpoint: EndpointAnswer
  onClose: () => void
}): ComponentChildren {
  const { api, router } = useConsole()
  // Windows are times of announcements, by upstream's clock.
  const { nowMs } = useUpstreamClock()
  const [openedMs] = useState(nowMs)
  const changes = useChanges('webhooks:replay')
  const [from, setFrom] = useState(() => londonInput(openedMs - HOUR_MS))
  const [until, setUntil] = useState('')
  const [isDead, setDead] = useState(false)
  const [problem, setProblem] = useState<ApiProblem | null>(null)
  const [isSending, setSending] = useState(false)
  const intent = useIntent()
  const body = {
    since: isoOf(from),
    ...(until !== '' && { until: isoOf(until) }),
    ...(isDead && { dead: true }),
  }
  const counted = useCount(endpoint.id, body, changes.may === 'now' && from !== '')
  const send = async (): Promise<void> => {
    setSending(true)
    const headers = intent.headersFor(body)
    const result = await api.ask('POST /v1/webhooks/{id}/replay', {
      with: { id: endpoint.id },
      headers,
      body,
    })
    intent.answered(result)
    setSending(false)
    if (!result.ok) return setProblem(result.problem)
    onClose()
    router.go(hrefOf('webhooks', endpoint.id, { view: 'replays' }))
  }
  const refused = counted?.ok === false ? counted.problem : problem
  const beside = problemBeside(refused, ['since', 'until'])
  return h(
    Dialog,
    { title: 'Replay', onClose },
    h(ChangesNote, { changes, what: 'deliveries, and counts them,' }),
    h(
      'p',
      { class: 'hint' },
      'Sends events of a time again, each with the webhook-id that it had. New events go first.',
    ),
    h(Presets, {
      openedMs,
      lastSuccessMs: millisOf(endpoint.health.lastSuccess),
      onFrom: (ms) => {
        setFrom(londonInput(ms))
        setUntil('')
      },
    }),
    h(
      'div',
      { class: 'plain-fields' },
      h(TextField, {
        label: 'From (London)',
        type: 'datetime-local',
        value: from,
        onValue: setFrom,
        error: errorOf(refused, 'since'),
      }),
      h(TextField, {
        label: 'Until (London)',
        type: 'datetime-local',
        value: until,
        onValue: setUntil,
        error: errorOf(refused, 'until'),
        hint: 'Empty: until now.',
      }),
    ),
    h(WindowLine, {
      nowMs: openedMs,
      fromMs: londonMs(from),
      untilMs: until === '' ? openedMs : londonMs(until),
    }),
    h(
      'label',
      { class: 'check' },
      h('input', { type: 'checkbox', checked: isDead, onChange: () => setDead(!isDead) }),
      ' Only deliveries that were given up',
    ),
    h('p', { class: 'replay-count', 'aria-live': 'polite' }, countLine(counted, changes.may)),
    beside !== null && h(ProblemNote, { problem: beside }),
    h(
      'div',
      { class: 'buttons' },
      h(
        'button',
        {
          type: 'button',
          class: 'primary',
          disabled: isSending || counted?.ok !== true || counted.value.count === 0,
          onClick: () => void send(),
        },
        sendWords(counted),
      ),
      h('button', { type: 'button', onClick: onClose }, 'Cancel'),
    ),
    changes.dialog,
  )
}

function sendWords(result: ApiResult<ReplayCountAnswer> | null): string {
  if (result?.ok !== true || result.value.count === 0) return 'Send again'
  return `Send ${counted(result.value.count, 'event')}${result.value.more ? ' and more' : ''} again`
}

function countLine(result: ApiResult<ReplayCountAnswer> | null, may: string): string {
  if (may !== 'now') return 'Unlock changes to have the events counted.'
  if (result === null) return 'Counting …'
  return result.ok ? countWords(result.value.count, result.value.waiting, result.value.more) : ''
}

/** What the replay would send; null while it is counted. */
function useCount(id: string, body: object, isOn: boolean): ApiResult<ReplayCountAnswer> | null {
  const { api, clock } = useConsole()
  const key = JSON.stringify(body)
  const [held, setHeld] = useState<{ key: string; result: ApiResult<ReplayCountAnswer> } | null>(null)
  useEffect(() => {
    if (!isOn) return
    const ended = new AbortController()
    const count = async (): Promise<void> => {
      const result = await api.ask('POST /v1/webhooks/{id}/replay', {
        with: { id },
        body: { ...body, dryRun: true },
        signal: ended.signal,
        limitMs: COUNT_LIMIT_MS,
      })
      if (!ended.signal.aborted) setHeld({ key, result })
    }
    const cancel = clock.after(TYPING_MS, () => void count())
    return () => {
      cancel()
      ended.abort()
    }
  }, [key, isOn])
  return held?.key === key ? held.result : null
}

function Presets({
  openedMs,
  lastSuccessMs,
  onFrom,
}: {
  openedMs: number
  lastSuccessMs: number | null
  onFrom: (ms: number) => void
}): ComponentChildren {
  const midnight = londonMs(`${londonInput(openedMs).slice(0, 10)}T00:00`) ?? openedMs
  const presets: [string, number][] = [
    ['Last hour', openedMs - HOUR_MS],
    ['Today', midnight],
    ['Last 7 days', openedMs - 7 * 24 * HOUR_MS],
    ...(lastSuccessMs === null ? [] : [['Since the last success', lastSuccessMs] as [string, number]]),
  ]
  return h(
    'div',
    { class: 'buttons', role: 'group', 'aria-label': 'Times to choose' },
    presets.map(([name, ms]) => h('button', { key: name, type: 'button', onClick: () => onFrom(ms) }, name)),
  )
}

/** Text that is no time is left to the bridge to refuse. */
function isoOf(text: string): string {
  const ms = londonMs(text)
  return ms === null ? text : new Date(ms).toISOString()
}
