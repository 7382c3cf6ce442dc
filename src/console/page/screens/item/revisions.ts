/** Lists the revisions of an item and shows what changed from one to another. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { ScrollTable } from '../../parts/lists/scroll-table.ts'
import type { EventAnswer } from '../../parts/reading-answers.ts'
import { ProblemNote } from '../../parts/state.ts'
import { Foreign } from '../../parts/text.ts'
import { useAnswer } from '../../shell/polling.ts'
import { hrefOf } from '../../shell/router.ts'
import { type Difference, differencesOf } from './revision-differences.ts'

/** The revisions; nothing of a gap, which has none. */
export function Revisions({ event }: { event: EventAnswer }): ComponentChildren {
  const { revisions, id } = event
  if (revisions.length === 0) return null
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'revisions' },
    h('h2', { id: 'revisions' }, revisions.length === 1 ? 'One revision' : `${revisions.length} revisions`),
    revisions.length === 1
      ? h('p', { class: 'hint' }, 'Its content has not changed since it was first seen.')
      : [
          h(
            'ol',
            { class: 'revisions', key: 'list' },
            revisions.map((revision) =>
              h(
                'li',
                { key: revision },
                h(
                  'a',
                  { href: hrefOf('item', revision), ...(revision === id && { 'aria-current': 'page' }) },
                  h(Foreign, { text: revision }),
                ),
              ),
            ),
          ),
          h(Comparison, { key: id, revisions, id }),
        ],
  )
}

/** What changed: at first from the revision before this one, or from this one to the next where it is the first. */
function Comparison({ revisions, id }: { revisions: readonly string[]; id: string }): ComponentChildren {
  const at = Math.max(revisions.indexOf(id), 0)
  const [pair, setPair] = useState({
    before: revisions[Math.max(at - 1, 0)] ?? id,
    after: revisions[Math.max(at, 1)] ?? id,
  })
  const before = useAnswer('GET /v1/disclosures/{id}', { with: { id: pair.before } }, null)
  const after = useAnswer('GET /v1/disclosures/{id}', { with: { id: pair.after } }, null)
  const problem = before.problem ?? after.problem
  const chooser = (side: 'before' | 'after', words: string): ComponentChildren =>
    h(
      'label',
      null,
      words,
      ' ',
      h(
        'select',
        {
          value: pair[side],
          onChange: (event: Event) =>
            setPair({ ...pair, [side]: (event.currentTarget as HTMLSelectElement).value }),
        },
        revisions.map((revision, index) => h('option', { key: revision, value: revision }, `${index + 1}`)),
      ),
    )
  return h(
    'div',
    null,
    h(
      'div',
      { class: 'inline-form' },
      chooser('before', 'What changed from revision'),
      ' ',
      chooser('after', 'to'),
    ),
    problem !== null && h(ProblemNote, { problem }),
    before.value !== null &&
      after.value !== null &&
      h(Differences, { differences: differencesOf(before.value.data, after.value.data) }),
  )
}

function Differences({ differences }: { differences: readonly Difference[] }): ComponentChildren {
  if (differences.length === 0) return h('p', { class: 'hint' }, 'Nothing: both are the same.')
  return h(
    ScrollTable,
    { label: 'What changed', columns: ['Member', 'Before', 'After'], look: 'differences' },
    differences.map(({ path, before, after }, index) =>
      h(
        'tr',
        { key: `${path}${index}` },
        h('th', { scope: 'row' }, h(Foreign, { text: path })),
        h(
          'td',
          null,
          before === null
            ? h('span', { class: 'hint' }, 'not there')
            : h('del', null, h(Foreign, { text: before })),
        ),
        h(
          'td',
          null,
          after === null
            ? h('span', { class: 'hint' }, 'not there')
            : h('ins', null, h(Foreign, { text: after })),
        ),
      ),
    ),
  )
}
