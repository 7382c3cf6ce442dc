/** Shows what was announced, as the upstream gave it: issuer, identifiers, categories, documents. Nothing in it is sure. */
import { type ComponentChildren, Fragment, h } from 'preact'
import { causeWords } from '../../parts/gaps.ts'
import type { EventAnswer } from '../../parts/reading-answers.ts'
import { OutLink } from '../../parts/safe-href.ts'
import { Foreign, textOfUnknown } from '../../parts/text.ts'
import { Moment } from '../../parts/times.ts'
import { documentsOf } from './item-journey.ts'

/** The facts. */
export function ItemFacts({ event }: { event: EventAnswer }): ComponentChildren {
  const isGap = event.type.startsWith('bridge.gap.')
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'facts' },
    h('h2', { id: 'facts' }, isGap ? 'The gap' : 'The announcement'),
    h('dl', { class: 'facts' }, isGap ? gapFacts(event.data) : facts(event)),
    isGap ? null : h(Documents, { data: event.data }),
  )
}

type Data = EventAnswer['data']

function facts({ id, data }: EventAnswer): ComponentChildren {
  const issuer = membersOf(data.issuer)
  const instrument = membersOf(issuer.instrument)
  return [
    fact('Issuer', issuer.name),
    fact('Symbol', membersOf(instrument.symbol).mnemonic),
    fact('ISIN', instrument.isin),
    fact('LEI', issuer.lei),
    fact('Categories', categoryTexts(data.category).join(' · ')),
    fact('Source', data.source),
    fact('Number', data.rnsId),
    fact('Id', id),
  ]
}

function gapFacts(data: Data): ComponentChildren {
  const moment = (name: string, iso: unknown): ComponentChildren =>
    h(Fragment, { key: name }, h('dt', null, name), h('dd', null, h(Moment, { iso })))
  return [
    moment('Begins', data.from),
    moment('Ends', data.to),
    fact('Because', causeWords(textOfUnknown(data.cause))),
    fact('Found since', data.found),
  ]
}

function fact(name: string, value: unknown): ComponentChildren {
  const text = textOfUnknown(value)
  if (text === '') return null
  return h(Fragment, { key: name }, h('dt', null, name), h('dd', null, h(Foreign, { text })))
}

/** Each category with its code, its name and its importance, as far as they are there. */
function categoryTexts(category: unknown): string[] {
  return (Array.isArray(category) ? (category as unknown[]) : []).map((entry) => {
    const { kind, code, name, importance } = membersOf(entry)
    const title = [kind, code]
      .map(textOfUnknown)
      .filter((text) => text !== '')
      .join(' ')
    const more = [name, importance]
      .map(textOfUnknown)
      .filter((text) => text !== '')
      .join(', ')
    return more === '' ? title : `${title} (${more})`
  })
}

function Documents({ data }: { data: Data }): ComponentChildren {
  const documents = documentsOf(data)
  if (documents.length === 0) return h('p', { class: 'hint' }, 'The upstream names no document.')
  return h(
    'div',
    null,
    h('h3', null, documents.length === 1 ? 'Document' : 'Documents'),
    h(
      'ul',
      { class: 'plain' },
      documents.map(({ url, mime }) =>
        h(
          'li',
          { key: url },
          h(OutLink, { href: url, text: url }),
          mime !== '' && [' ', h(Foreign, { text: mime })],
        ),
      ),
    ),
    h('p', { class: 'hint' }, 'They lie with the provider, and open in a new tab. The bridge fetches none.'),
  )
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
