/** The tokens of the tenant: what each may do, its last use and its end; makes and deletes them. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { ChangesNote, useChanges } from '../../parts/forms/changes.ts'
import { SecretOnce } from '../../parts/forms/secret-once.ts'
import { ListTable } from '../../parts/lists/list-table.ts'
import type { Column } from '../../parts/lists/scroll-table.ts'
import type { MadeToken, TokenAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote, StateMark } from '../../parts/state.ts'
import { Foreign } from '../../parts/text.ts'
import { Moment } from '../../parts/times.ts'
import type { ScreenProps } from '../../shell/navigation.ts'
import { useAnswer } from '../../shell/polling.ts'
import { useNow, useTitle } from '../../shell/services.ts'
import { useStore } from '../../shell/store.ts'
import { DeleteToken } from './delete-token.ts'
import { MakeToken } from './make-token.ts'
import { expiryWords, lastUseWords, scopeSentences } from './token-words.ts'

const EVERY_MS = 10_000
/** A tenant has a thousand at most. */
const LIMIT = 1000

/** The screen. */
export function TokensScreen({ session }: ScreenProps): ComponentChildren {
  useTitle('Tokens')
  const signedIn = useStore(session.current)
  const mayRead = session.mayRead('admin')
  const tokens = useAnswer(mayRead ? 'GET /v1/tokens' : null, { with: { limit: LIMIT } }, EVERY_MS)
  const changes = useChanges('admin')
  const [made, setMade] = useState<MadeToken | null>(null)
  const [open, setOpen] = useState<'make' | TokenAnswer | null>(null)
  if (signedIn.state !== 'signed_in') return null
  const close = (): void => setOpen(null)
  const closeAndReload = (): void => {
    close()
    tokens.reload()
  }
  return h(
    'div',
    { class: 'stack' },
    h(
      'header',
      { class: 'head-row' },
      h('h1', null, 'Tokens'),
      mayRead &&
        h(
          'button',
          { type: 'button', class: 'primary', onClick: () => changes.attempt(() => setOpen('make')) },
          'Make a token',
        ),
    ),
    mayRead ? h(ChangesNote, { changes, what: 'tokens' }) : h(NotAllowed, null),
    made !== null &&
      h(
        SecretOnce,
        {
          name: ['The new token', made.name === null ? '' : [' ', h(Foreign, { text: made.name })]],
          secret: made.token,
          onStored: () => setMade(null),
        },
        h(
          'p',
          { class: 'hint' },
          'Programs send it as ',
          h('code', null, 'Authorization: Bearer …'),
          '. If it is lost, delete it and make another.',
        ),
      ),
    tokens.problem !== null && h(ProblemNote, { problem: tokens.problem }),
    tokens.value !== null &&
      h(
        'section',
        { class: 'panel', 'aria-label': 'Tokens' },
        h(TokenTable, {
          tokens: tokens.value.data,
          ownId: signedIn.me.tokenId,
          isOfSeveral: signedIn.me.tokenId === 'settings',
          onDelete: (token) => changes.attempt(() => setOpen(token)),
        }),
      ),
    tokens.value?.next != null &&
      h('p', { class: 'hint' }, `Only the first ${LIMIT} are shown; bridge tokens list has all.`),
    changes.dialog,
    open === 'make' &&
      h(MakeToken, {
        me: signedIn.me,
        onClose: close,
        onMade: (token) => {
          setMade(token)
          closeAndReload()
        },
      }),
    open !== null &&
      open !== 'make' &&
      h(DeleteToken, {
        token: open,
        isOwn: open.id === signedIn.me.tokenId,
        onClose: close,
        onDeleted: closeAndReload,
      }),
  )
}

function NotAllowed(): ComponentChildren {
  return h(
    'p',
    { class: 'note' },
    'Tokens are shown to sessions whose token has the scope admin. That of this session has not got it.',
  )
}

interface TableProps {
  tokens: readonly TokenAnswer[]
  ownId: string
  /** Whether those of several tenants are listed. */
  isOfSeveral: boolean
  onDelete: (token: TokenAnswer) => void
}

function TokenTable({ tokens, ...rest }: TableProps): ComponentChildren {
  const nowMs = useNow()
  if (tokens.length === 0) {
    return h(
      'p',
      null,
      'There is no token yet but BRIDGE_ADMIN_TOKEN, which stands in the settings. Give each program its own, with no more rights than it needs.',
    )
  }
  return h(ListTable, {
    label: 'List of tokens',
    columns: columns.filter(({ name }) => rest.isOfSeveral || name !== 'Tenant'),
    rows: tokens.map((token) => ({ key: token.id, cells: cellsOf(token, nowMs, rest) })),
  })
}

const columns: readonly Column[] = [
  { name: 'Token' },
  { name: 'Tenant' },
  { name: 'It may' },
  { name: 'Made', kind: 'word' },
  { name: 'Last used', kind: 'word' },
  { name: 'Expires', kind: 'word' },
  { name: 'Actions', kind: 'actions' },
]

function cellsOf(
  token: TokenAnswer,
  nowMs: number,
  { ownId, isOfSeveral, onDelete }: Omit<TableProps, 'tokens'>,
): ComponentChildren[] {
  const { id, tenant, name, scopes, createdAt, lastUsed, expiresAt } = token
  const expiry = expiryWords(expiresAt, nowMs)
  return [
    [
      name === null ? h('span', { class: 'soft' }, 'no name') : h(Foreign, { text: name, class: 'clip' }),
      id === ownId && [' ', h('span', { class: 'tag tag-marked' }, 'this session')],
      h('div', { class: 'code soft' }, id),
    ],
    ...(isOfSeveral ? [h(Foreign, { text: tenant })] : []),
    h(
      'ul',
      { class: 'plain' },
      scopes.map((scope) => h('li', { key: scope, title: scope }, scopeSentences[scope] ?? scope)),
    ),
    h(Moment, { iso: createdAt }),
    lastUseWords(lastUsed, nowMs),
    expiresAt === null
      ? expiry.text
      : [
          h(StateMark, { tone: expiry.tone }, expiry.text),
          h('div', { class: 'soft' }, h(Moment, { iso: expiresAt })),
        ],
    h(
      'button',
      {
        type: 'button',
        class: 'danger',
        'aria-label': `Delete ${name ?? id}`,
        onClick: () => onDelete(token),
      },
      'Delete',
    ),
  ]
}
