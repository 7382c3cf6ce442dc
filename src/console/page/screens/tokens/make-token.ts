/** Makes a token: its name, tenant, what it may do and its end. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.ts'
import { ChoiceField, errorOf, problemBeside, TextField } from '../../parts/forms/fields.ts'
import type { MadeToken } from '../../parts/managing-answers.ts'
import { ProblemNote, StateMark } from '../../parts/state.ts'
import { exactMoment, millisOf } from '../../parts/times.ts'
import type { TokenScope } from '../../parts/token-scope.ts'
import type { MeAnswer } from '../../shell/answers.ts'
import type { ApiProblem } from '../../shell/api.ts'
import { useConsole } from '../../shell/services.ts'
import { allScopes, endOf, lifetimes, scopeSentences } from './token-words.ts'

/** Tokens of other tenants are made by the token of the settings alone. */
const OPERATOR = 'settings'
const LONGEST_NAME = 100

/** The dialog. */
export function MakeToken({
  me,
  onMade,
  onClose,
}: {
  me: MeAnswer
  onMade: (made: MadeToken) => void
  onClose: () => void
}): ComponentChildren {
  const { api, ticks } = useConsole()
  const [name, setName] = useState('')
  const [tenant, setTenant] = useState(me.tenant)
  const [scopes, setScopes] = useState<readonly TokenScope[]>(['events:read'])
  const [lifetime, setLifetime] = useState<string>(me.expiresAt === null ? 'quarter' : 'day')
  const [problem, setProblem] = useState<ApiProblem | null>(null)
  const [isSending, setSending] = useState(false)
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isSending || scopes.length === 0) return
    setSending(true)
    const body = {
      tenant,
      scopes,
      ...(name.trim() !== '' && { name: name.trim() }),
      expiresAt: endOf(lifetime, ticks.get()),
    }
    const result = await api.ask('POST /v1/tokens', { body })
    setSending(false)
    if (result.ok) onMade(result.value)
    else setProblem(result.problem)
  }
  const beside = problemBeside(problem, ['name', 'tenant', 'expiresAt'])
  return h(
    Dialog,
    { title: 'Make a token', onClose },
    h(
      'form',
      { class: 'stack', onSubmit: (event: Event) => void onSubmit(event) },
      h(TextField, {
        label: 'Name',
        isFirst: true,
        hint: 'What it is for; shown in this list and beside its streams.',
        placeholder: 'dashboards',
        maxLength: LONGEST_NAME,
        value: name,
        onValue: setName,
        error: errorOf(problem, 'name'),
      }),
      h(TextField, {
        label: 'Tenant',
        hint:
          me.tokenId === OPERATOR
            ? 'Whose it is. A tenant sees its own webhooks, streams and tokens only; a new name makes a new one.'
            : 'Tokens of other tenants are made with BRIDGE_ADMIN_TOKEN.',
        value: tenant,
        isDisabled: me.tokenId !== OPERATOR,
        isRequired: true,
        onValue: setTenant,
        error: errorOf(problem, 'tenant'),
      }),
      h(ScopeChoice, { mine: me.session?.tokenScopes ?? me.scopes, chosen: scopes, onChoose: setScopes }),
      h(ChoiceField, {
        label: 'Expires',
        options: lifetimes.map(([key, words]) => [key, words] as const),
        value: lifetime,
        onValue: setLifetime,
        error: errorOf(problem, 'expiresAt'),
        ...(me.expiresAt !== null && {
          hint: `Not later than the token of this session: ${exactMoment(millisOf(me.expiresAt) ?? 0)}.`,
        }),
      }),
      beside !== null && h(ProblemNote, { problem: beside }),
      h(
        'div',
        { class: 'buttons' },
        h(
          'button',
          { type: 'submit', class: 'primary', disabled: isSending || scopes.length === 0 },
          'Make the token',
        ),
        h('button', { type: 'button', onClick: onClose }, 'Cancel'),
      ),
    ),
  )
}

/** What it may do: no more than the token that makes it. */
function ScopeChoice({
  mine,
  chosen,
  onChoose,
}: {
  mine: readonly TokenScope[]
  chosen: readonly TokenScope[]
  onChoose: (chosen: readonly TokenScope[]) => void
}): ComponentChildren {
  const missing = allScopes.filter((scope) => !mine.includes(scope))
  return h(
    'fieldset',
    { class: 'scope-choice' },
    h('legend', null, 'It may'),
    allScopes.map((scope) =>
      h(
        'label',
        { key: scope, class: 'check' },
        h('input', {
          type: 'checkbox',
          value: scope,
          checked: chosen.includes(scope),
          disabled: missing.includes(scope),
          onChange: () =>
            onChoose(chosen.includes(scope) ? chosen.filter((one) => one !== scope) : [...chosen, scope]),
        }),
        h('span', null, scopeSentences[scope], ' ', h('code', null, scope)),
      ),
    ),
    chosen.length === 0 && h('p', null, h(StateMark, { tone: 'bad' }, 'Choose what it may do.')),
    missing.length > 0 && h('p', { class: 'hint' }, 'A token gives no right that it has not got itself.'),
  )
}
