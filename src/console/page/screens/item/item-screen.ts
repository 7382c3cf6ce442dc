/**
 * Shows one event: what was announced, its way from the upstream to every reader with the time that each station took, its
 * revisions and what changed between them, its documents, and its JSON as it was stored.
 */
import { type ComponentChildren, h } from 'preact'
import { Freshness } from '../../parts/freshness.ts'
import type { EventAnswer } from '../../parts/reading-answers.ts'
import { ProblemNote } from '../../parts/state.ts'
import { Foreign, textOfUnknown } from '../../parts/text.ts'
import type { ScreenProps } from '../../shell/navigation.ts'
import { useAnswer } from '../../shell/polling.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole, useTitle } from '../../shell/services.ts'
import { ItemFacts } from './item-facts.ts'
import { Journey } from './journey.ts'
import { Revisions } from './revisions.ts'
import { StoredJson } from './stored-json.ts'

/** An event changes only when another replaces it. */
const EVERY_MS = 30_000

/** The screen. The id of the route is an event's id or sequence; without one the screen asks for it. */
export function ItemScreen({ route: { id } }: ScreenProps): ComponentChildren {
  const { session } = useConsole()
  const mayRead = session.mayRead('events:read')
  const event = useAnswer(
    mayRead && id !== null ? 'GET /v1/disclosures/{id}' : null,
    { with: { id } },
    EVERY_MS,
  )
  const shown = event.value
  useTitle(shown === null ? 'Item' : nameOf(shown))
  if (id === null) return h(Choose, null)
  if (!mayRead)
    return h(
      'p',
      { class: 'note' },
      'Announcements need a token with the scope events:read. This session has none.',
    )
  if (shown === null && event.problem === null) return h('p', { 'aria-busy': 'true' }, 'Reading …')
  if (shown === null && event.problem !== null)
    return h(
      'div',
      { class: 'stack' },
      h('h1', null, 'Item'),
      h(ProblemNote, { problem: event.problem }),
      h(Choose, null),
    )
  if (shown === null) return null
  return h(
    'article',
    { class: 'item stack', 'aria-labelledby': 'item-name' },
    h(
      'header',
      { class: 'screen-head' },
      h('h1', { id: 'item-name' }, h(Foreign, { text: nameOf(shown) })),
      h(Freshness, { atMs: event.atMs, everyMs: EVERY_MS }),
    ),
    event.problem !== null && h(ProblemNote, { problem: event.problem }),
    h(Relations, { event: shown }),
    h(
      'div',
      { class: 'item-columns' },
      h(Journey, { event: shown }),
      h('div', { class: 'stack' }, h(ItemFacts, { event: shown }), h(Revisions, { event: shown })),
    ),
    h(StoredJson, { id: shown.id }),
  )
}

/** The headline; of a gap what it is. */
function nameOf({ type, data, id }: EventAnswer): string {
  if (type.startsWith('bridge.gap.')) return 'A gap: items may be missing'
  const headline = textOfUnknown(data.headline)
  return headline === '' ? id : headline
}

function Relations({ event }: { event: EventAnswer }): ComponentChildren {
  const links = [
    event.replacesid === undefined ? null : { words: 'It replaces ', id: event.replacesid },
    event.replacedBy === null ? null : { words: 'It was replaced by ', id: event.replacedBy },
  ].filter((link) => link !== null)
  if (links.length === 0) return null
  return h(
    'p',
    { class: 'note' },
    links.map(({ words, id }) =>
      h('span', { key: words }, words, h('a', { href: hrefOf('item', id) }, h(Foreign, { text: id })), '. '),
    ),
  )
}

function Choose(_: object): ComponentChildren {
  const { router } = useConsole()
  return h(
    'form',
    {
      class: 'inline-form',
      onSubmit: (event: SubmitEvent) => {
        event.preventDefault()
        const field = (event.currentTarget as HTMLFormElement).elements.namedItem('id')
        const text = field instanceof HTMLInputElement ? field.value.trim() : ''
        if (text !== '') router.go(hrefOf('item', text))
      },
    },
    h(
      'label',
      null,
      'Id or sequence of an event ',
      h('input', { name: 'id', required: true, autocomplete: 'off', spellcheck: false }),
    ),
    h('button', { type: 'submit' }, 'Show it'),
  )
}
