/** Shows the JSON of an event byte for byte as streams send it and webhooks sign it; it is read when it is opened. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton } from '../../parts/copy.ts'
import { JsonView, prettyJson } from '../../parts/json-view.ts'
import type { EventAnswer } from '../../parts/reading-answers.ts'
import { ProblemNote } from '../../parts/state.ts'
import type { ApiResult } from '../../shell/api.ts'
import { useConsole } from '../../shell/services.ts'
import { storedText } from './stored-bytes.ts'

/** The JSON, closed at first. */
export function StoredJson({ id }: { id: string }): ComponentChildren {
  const { api } = useConsole()
  const [read, setRead] = useState<{ id: string; result: ApiResult<EventAnswer> } | null>(null)
  const [isPretty, setPretty] = useState(false)
  const open = async (isOpen: boolean): Promise<void> => {
    if (isOpen && read?.id !== id)
      setRead({ id, result: await api.ask('GET /v1/disclosures/{id}', { with: { id } }) })
  }
  const result = read?.id === id ? read.result : null
  return h(
    'details',
    {
      key: id,
      class: 'panel stored',
      onToggle: (event: Event) => void open((event.currentTarget as HTMLDetailsElement).open),
    },
    h('summary', null, 'JSON as it is stored'),
    result !== null &&
      (result.ok ? h(Stored, { answer: result.text, isPretty, setPretty }) : h(ProblemNote, result)),
  )
}

function Stored(props: {
  answer: string
  isPretty: boolean
  setPretty: (isPretty: boolean) => void
}): ComponentChildren {
  const { answer, isPretty, setPretty } = props
  const stored = storedText(answer)
  return h(
    'div',
    null,
    stored === null &&
      h(
        'p',
        { class: 'note' },
        'This bridge answers with more than this page knows: the text below is not byte for byte what was signed.',
      ),
    h(
      'div',
      { class: 'inline-form' },
      h(
        'label',
        null,
        h('input', {
          type: 'checkbox',
          checked: isPretty,
          onChange: (event: Event) => setPretty((event.currentTarget as HTMLInputElement).checked),
        }),
        ' On several lines',
      ),
      h(CopyButton, { text: stored ?? answer, what: 'the JSON' }),
    ),
    h(JsonView, {
      text: isPretty ? prettyJson(JSON.parse(stored ?? answer)) : (stored ?? answer),
      label: 'The event as JSON',
    }),
  )
}
