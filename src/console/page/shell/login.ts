/** Asks for a token and signs in with it. */
import { type ComponentChildren, h } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { type Problem, ProblemNote } from '../parts/state.ts'
import type { ApiProblem } from './api.ts'
import { useConsole, useTitle } from './services.ts'

/** The form. `why`: said above it, as is what went wrong with a link. */
export function LoginScreen({
  why,
  problem,
}: {
  why: string | null
  problem: Problem | null
}): ComponentChildren {
  const { session } = useConsole()
  useTitle('Sign in')
  return h(
    'main',
    { id: 'main', class: 'login', tabIndex: -1 },
    h('h1', null, 'disclosure-bridge'),
    h('p', { class: 'lead' }, 'Sign in to see regulatory announcements arrive, and whether any are missing.'),
    why !== null && h('p', { class: 'note note-notice', role: 'status' }, why),
    problem !== null && h(ProblemNote, { problem }),
    h(TokenForm, { submit: 'Sign in', send: (token) => session.signIn(token) }),
    h(
      'section',
      { class: 'aside' },
      h('h2', null, 'Where to find a token'),
      h(
        'ul',
        null,
        h('li', null, 'The demo prints one when it starts.'),
        h('li', null, 'The operator has ', h('code', null, 'BRIDGE_ADMIN_TOKEN'), ' in the settings.'),
        h('li', null, h('code', null, 'bridge tokens create'), ' makes one with fewer rights.'),
        h(
          'li',
          null,
          h('code', null, 'bridge console'),
          ' opens this page signed in, with a link that works once.',
        ),
      ),
      h(
        'p',
        null,
        'The token is sent to this bridge once. The browser keeps a cookie that scripts cannot read, for twelve hours at most.',
      ),
    ),
  )
}

/** Asks whether a link may sign in that another site, a file or an older browser has opened. */
export function LinkQuestion({ answer }: { answer: (mayUse: boolean) => void }): ComponentChildren {
  useTitle('Sign in with a link')
  return h(
    'main',
    { id: 'main', class: 'login', tabIndex: -1 },
    h('h1', null, 'disclosure-bridge'),
    h('p', { class: 'lead' }, 'Sign in with this link?'),
    h(
      'p',
      null,
      'It gives this browser a session of whoever made the link. Go on if you asked for it, or know who sent it.',
    ),
    h(
      'div',
      { class: 'field-row' },
      h('button', { type: 'button', class: 'primary', onClick: () => answer(true) }, 'Sign in'),
      h('button', { type: 'button', onClick: () => answer(false) }, 'Do not use the link'),
    ),
  )
}

/** A field for a token and a button. `send` returns why the token was refused. */
export function TokenForm({
  submit,
  send,
}: {
  submit: string
  send: (token: string) => Promise<ApiProblem | null>
}): ComponentChildren {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [problem, setProblem] = useState<ApiProblem | null>(null)
  const [isSending, setSending] = useState(false)
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault()
    const token = field.current?.value.trim() ?? ''
    if (token === '' || isSending) return
    setSending(true)
    const refused = await send(token)
    setSending(false)
    setProblem(refused)
    if (refused !== null) field.current?.select()
  }
  return h(
    'form',
    { onSubmit: (event: Event) => void onSubmit(event), class: 'token-form' },
    h('label', { for: id }, 'Token'),
    h(
      'div',
      { class: 'field-row' },
      h('input', {
        id,
        ref: field,
        type: 'password',
        autocomplete: 'off',
        autocapitalize: 'off',
        spellcheck: false,
        required: true,
        'aria-invalid': problem !== null,
      }),
      h('button', { type: 'submit', class: 'primary', disabled: isSending }, submit),
    ),
    problem !== null && h(ProblemNote, { problem: wordsOf(problem) }),
  )
}

function wordsOf(problem: ApiProblem): Problem {
  if (problem.kind !== 'signed_out') return problem
  return { detail: 'The bridge does not know this token: it is mistyped, has expired, or was deleted.' }
}
