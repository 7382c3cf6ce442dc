/** One endpoint: how it stands, what can be done with it, and its attempts, deliveries, replays and settings. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { type Changes, ChangesNote } from '../../parts/forms/changes.ts'
import { SecretOnce } from '../../parts/forms/secret-once.ts'
import type { EndpointAnswer, EndpointWithSecret } from '../../parts/managing-answers.ts'
import { ProblemNote, StateMark } from '../../parts/state.ts'
import { Foreign } from '../../parts/text.ts'
import { Ago, millisOf } from '../../parts/times.ts'
import type { ApiProblem } from '../../shell/api.ts'
import { useAnswer } from '../../shell/polling.ts'
import { hrefOf, type PageRoute } from '../../shell/router.ts'
import { useConsole, useNow, useTitle } from '../../shell/services.ts'
import { AttemptsView } from './attempts-view.ts'
import { DeliveriesView } from './deliveries-view.ts'
import { EndpointSettings } from './endpoint-settings.ts'
import { endpointState, pendingWords } from './endpoint-words.ts'
import { ReplayDialog } from './replay-dialog.ts'
import { ReplaysView } from './replays-view.ts'
import { TestDialog } from './test-dialog.ts'

const EVERY_MS = 3000
const views = [
  ['attempts', 'Attempts'],
  ['deliveries', 'Deliveries'],
  ['replays', 'Replays'],
  ['settings', 'Settings'],
] as const

/** What the page needs. */
export interface EndpointPageProps {
  id: string
  query: PageRoute['query']
  changes: Changes
  /** Shown until it is stored; null where there is none. */
  secret: string | null
  onSecret: (made: EndpointWithSecret | null) => void
}

/** The page. */
export function EndpointPage(props: EndpointPageProps): ComponentChildren {
  const { id, changes, secret, onSecret } = props
  const { value, problem, reload } = useAnswer('GET /v1/webhooks/{id}', { with: { id } }, EVERY_MS)
  useTitle(value?.description ?? 'Webhook')
  if (value === null) {
    return h(
      'div',
      { class: 'stack' },
      h('h1', null, 'Webhook'),
      problem === null ? h('p', { 'aria-busy': 'true' }, 'Asking …') : h(ProblemNote, { problem }),
      h('a', { href: hrefOf('webhooks') }, 'All webhooks'),
    )
  }
  return h(
    'div',
    { class: 'stack' },
    h(Head, { endpoint: value, changes, reload }),
    problem !== null && h(ProblemNote, { problem }),
    h(ChangesNote, { changes, what: 'webhooks' }),
    secret !== null && h(NewSecret, { secret, onStored: () => onSecret(null) }),
    h(HealthFacts, { endpoint: value }),
    h(View, { ...props, endpoint: value, reload }),
  )
}

interface PartProps {
  endpoint: EndpointAnswer
  changes: Changes
  reload: () => void
}

function Head({ endpoint, changes, reload }: PartProps): ComponentChildren {
  const nowMs = useNow()
  const { description, url } = endpoint
  const state = endpointState(endpoint, nowMs)
  return [
    h(
      'header',
      { key: 'head', class: 'head-row' },
      h(
        'div',
        null,
        h('a', { href: hrefOf('webhooks') }, 'Webhooks'),
        h('h1', null, h(Foreign, { text: description ?? url, class: 'wrap' })),
        description !== null && h('p', { class: 'soft' }, h(Foreign, { text: url, class: 'wrap code' })),
        h('p', { class: 'endpoint-state' }, h(StateMark, { tone: state.tone }, state.text)),
      ),
      h(Actions, { endpoint, changes, reload }),
    ),
  ]
}

/** What is tried most: a test, a replay, pausing. */
function Actions({ endpoint, changes, reload }: PartProps): ComponentChildren {
  const { api } = useConsole()
  const [open, setOpen] = useState<'test' | 'replay' | null>(null)
  const [problem, setProblem] = useState<ApiProblem | null>(null)
  const { id, status } = endpoint
  const isActive = status === 'active'
  const switchOn = async (): Promise<void> => {
    const result = await api.ask('PATCH /v1/webhooks/{id}', {
      with: { id },
      body: { status: isActive ? 'paused' : 'active' },
    })
    setProblem(result.ok ? null : result.problem)
    reload()
  }
  const close = (): void => setOpen(null)
  return h(
    'div',
    null,
    h(
      'div',
      { class: 'buttons' },
      h(
        'button',
        { type: 'button', class: 'primary', onClick: () => changes.attempt(() => setOpen('test')) },
        'Send a test',
      ),
      h('button', { type: 'button', onClick: () => setOpen('replay') }, 'Replay'),
      h(
        'button',
        { type: 'button', onClick: () => changes.attempt(() => void switchOn()) },
        isActive ? 'Pause' : 'Resume',
      ),
    ),
    problem !== null && h(ProblemNote, { problem }),
    open === 'test' && h(TestDialog, { id, onClose: close }),
    open === 'replay' && h(ReplayDialog, { endpoint, onClose: close }),
  )
}

function NewSecret({ secret, onStored }: { secret: string; onStored: () => void }): ComponentChildren {
  return h(
    SecretOnce,
    { name: 'The secret of this webhook', secret, onStored },
    h(
      'p',
      { class: 'hint' },
      'Your receiver checks the signature of each request with it. If it is lost, rotate it: the old one goes on signing for 24 hours.',
    ),
  )
}

function HealthFacts({ endpoint: { health } }: { endpoint: EndpointAnswer }): ComponentChildren {
  const nowMs = useNow()
  const { dead, forgotten, lastSuccess, p50Ms, p95Ms } = health
  const successMs = millisOf(lastSuccess)
  const facts: [string, ComponentChildren][] = [
    ['Waiting', pendingWords(health, nowMs)],
    [
      'Given up',
      dead === null
        ? '–'
        : `${dead}${forgotten === null || forgotten === 0 ? '' : ` and ${forgotten} forgotten`}`,
    ],
    ['Last success', successMs === null ? 'none in the last week' : h(Ago, { ms: successMs })],
    ['Answers in', p50Ms === null || p95Ms === null ? '–' : `${p50Ms} ms, one in twenty over ${p95Ms} ms`],
  ]
  return h(
    'dl',
    { class: 'figures' },
    facts.map(([name, value]) => h('div', { key: name }, h('dt', null, name), h('dd', null, value))),
  )
}

function View(props: EndpointPageProps & PartProps): ComponentChildren {
  const { id, query, endpoint, changes, reload, onSecret } = props
  const [chosen, heading] = views.find(([name]) => name === query.get('view')) ?? views[0]
  return [
    h(
      'nav',
      { key: 'views', class: 'views', 'aria-label': 'Of this webhook' },
      h(
        'ul',
        null,
        views.map(([name, words]) =>
          h(
            'li',
            { key: name },
            h(
              'a',
              {
                href: hrefOf('webhooks', id, { view: name === 'attempts' ? null : name }),
                'aria-current': name === chosen ? 'true' : undefined,
              },
              words,
            ),
          ),
        ),
      ),
    ),
    h(
      'section',
      { key: chosen, class: 'panel', 'aria-label': heading },
      h('h2', { class: 'off-screen' }, heading),
      chosen === 'attempts' && h(AttemptsView, { endpoint, query }),
      chosen === 'deliveries' && h(DeliveriesView, { endpoint, query }),
      chosen === 'replays' && h(ReplaysView, { endpoint }),
      chosen === 'settings' && h(EndpointSettings, { endpoint, changes, reload, onSecret }),
    ),
  ]
}
