/** Shows one attempt: payload, headers, the receiver's answer, the next try, the request as commands; sends it again. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CopyButton } from '../../parts/copy.ts'
import { useChanges } from '../../parts/forms/changes.ts'
import { Resend } from '../../parts/forms/resend.ts'
import { JsonView, prettyJson } from '../../parts/json-view.ts'
import type { AttemptAnswer, DeliveryAnswer, EndpointAnswer } from '../../parts/managing-answers.ts'
import type { EventAnswer } from '../../parts/reading-answers.ts'
import { ProblemNote, StateMark } from '../../parts/state.ts'
import { Foreign, visibleLines } from '../../parts/text.ts'
import { exactMoment, millisOf } from '../../parts/times.ts'
import type { ApiResult } from '../../shell/api.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole, useNow } from '../../shell/services.ts'
import { storedText } from '../item/stored-bytes.ts'
import { BATCH_TYPE, curlCommand, EVENT_TYPE } from './curl-command.ts'
import { adviceOn, attemptState, nextWords } from './endpoint-words.ts'
import { MaskedHeaders } from './header-fields.ts'

/** What the detail shows. */
export interface AttemptDetailProps {
  endpoint: EndpointAnswer
  attempt: AttemptAnswer
  /** Its delivery, where it waits for the next try. */
  next: DeliveryAnswer | null
}

/** The event that was sent, read once; null while it is read. */
function useEvent(id: string): ApiResult<EventAnswer> | null {
  const { api } = useConsole()
  const [read, setRead] = useState<ApiResult<EventAnswer> | null>(null)
  useEffect(() => {
    const ended = new AbortController()
    const options = { with: { id }, signal: ended.signal }
    void api.ask('GET /v1/disclosures/{id}', options).then((result) => {
      if (!ended.signal.aborted) setRead(result)
    })
    return () => ended.abort()
  }, [id])
  return read
}

/** The detail. */
export function AttemptDetail({ endpoint, attempt, next }: AttemptDetailProps): ComponentChildren {
  const nowMs = useNow()
  const read = useEvent(attempt.eventId)
  const [isShown, setShown] = useState(false)
  const changes = useChanges('webhooks:replay')
  const state = attemptState(attempt)
  const advice = adviceOn(attempt)
  const body = read?.ok === true ? storedText(read.text) : null
  return h(
    'div',
    { class: 'attempt' },
    h(
      'div',
      { class: 'attempt-facts' },
      h(
        'p',
        null,
        h(StateMark, { tone: state.tone }, h('strong', null, state.text)),
        advice !== '' && ` ${advice}`,
      ),
      h(
        'p',
        null,
        next === null ? '' : [h('strong', null, `The next try is ${nextWords(next.nextAttempt, nowMs)}. `)],
        h('a', { href: hrefOf('item', attempt.eventId) }, 'Journey of the event'),
        ' · ',
        h(
          'a',
          { href: hrefOf('webhooks', endpoint.id, { event: attempt.eventId }) },
          'All attempts of this event',
        ),
      ),
      read?.ok === true &&
        h(Resend, { endpointId: endpoint.id, status: endpoint.status, eventId: attempt.eventId, changes }),
      changes.dialog,
    ),
    h(
      'div',
      { class: 'attempt-parts' },
      h(Response, { attempt }),
      h(Request, { endpoint, attempt, isShown, setShown }),
      h(Payload, { read, body, isBatch: endpoint.maxBatch !== null }),
      body !== null && h(Curl, { endpoint, attempt, body, isShown }),
    ),
  )
}

function Response({
  attempt: { status, response, outcome },
}: Pick<AttemptDetailProps, 'attempt'>): ComponentChildren {
  const note =
    status === null
      ? 'There was none.'
      : outcome === 'ok'
        ? 'The bodies of successes are not kept.'
        : response === null || response === ''
          ? 'It had no body.'
          : null
  return h(
    'section',
    { 'aria-label': 'Answer' },
    h('h3', null, status === null ? 'Answer of the receiver' : `Answer of the receiver: ${status}`),
    note !== null && h('p', { class: 'hint' }, note),
    note === null &&
      h(
        'pre',
        { class: 'answer', tabIndex: 0, role: 'region', 'aria-label': 'Body of the answer' },
        h('code', null, visibleLines(response ?? '')),
      ),
  )
}

function Request({
  endpoint: { url, headers, maxBatch },
  attempt: { webhookId, at },
  isShown,
  setShown,
}: Omit<AttemptDetailProps, 'next'> & {
  isShown: boolean
  setShown: (isShown: boolean) => void
}): ComponentChildren {
  const facts: [string, ComponentChildren][] = [
    ['POST', h(Foreign, { text: url, class: 'foreign code' })],
    ['content-type', h('code', null, maxBatch === null ? EVENT_TYPE : BATCH_TYPE)],
    ['webhook-id', h('code', null, webhookId)],
    ['webhook-timestamp', `when it was signed, at about ${exactMoment(millisOf(at) ?? 0)}`],
    ['webhook-signature', 'not kept; the commands below sign anew'],
    ['of its own', h(MaskedHeaders, { headers, isShown, onShow: setShown })],
  ]
  return h(
    'section',
    { 'aria-label': 'Headers' },
    h('h3', null, 'Headers that were sent'),
    h(
      'dl',
      { class: 'facts' },
      facts.map(([name, value]) => [h('dt', { key: name }, name), h('dd', { key: `${name} value` }, value)]),
    ),
    h('p', { class: 'hint' }, 'URL and own headers as they are set now.'),
  )
}

function Payload({
  read,
  body,
  isBatch,
}: {
  read: ApiResult<EventAnswer> | null
  body: string | null
  isBatch: boolean
}): ComponentChildren {
  if (read === null) return h('p', { 'aria-busy': 'true' }, 'Reading …')
  if (!read.ok) {
    return h(
      'section',
      { 'aria-label': 'Payload' },
      h('h3', null, 'Payload'),
      read.problem.status === 404
        ? h(
            'p',
            { class: 'hint' },
            'It is in no log: a test, a notification, or an event that is not kept any more.',
          )
        : h(ProblemNote, { problem: read.problem }),
    )
  }
  return h(
    'section',
    { 'aria-label': 'Payload' },
    h(
      'div',
      { class: 'head-row' },
      h('h3', null, 'Payload'),
      h(CopyButton, { text: body ?? read.text, what: 'the payload, byte for byte' }),
    ),
    isBatch && h('p', { class: 'hint' }, 'Sent inside an array, perhaps with others.'),
    h(JsonView, { text: prettyJson(read.value.data), label: 'The payload: data of the event' }),
  )
}

function Curl({
  endpoint: { url, headers, maxBatch },
  attempt: { webhookId },
  body,
  isShown,
}: Omit<AttemptDetailProps, 'next'> & { body: string; isShown: boolean }): ComponentChildren {
  const text = curlCommand({
    url,
    webhookId,
    contentType: maxBatch === null ? EVENT_TYPE : BATCH_TYPE,
    headers: Object.fromEntries(
      Object.entries(headers ?? {}).map(([name, value]) => [name, isShown ? value : null]),
    ),
    body: maxBatch === null ? body : `[${body}]`,
  })
  return h(
    'section',
    { 'aria-label': 'As commands' },
    h(
      'div',
      { class: 'head-row' },
      h('h3', null, 'From a terminal'),
      h(CopyButton, { text, what: 'the request as curl commands' }),
    ),
    h('p', { class: 'hint' }, 'Set WEBHOOK_SECRET first; needs curl and openssl.'),
    h(
      'pre',
      { class: 'command', tabIndex: 0, role: 'region', 'aria-label': 'The request as curl' },
      h('code', null, visibleLines(text)),
    ),
  )
}
