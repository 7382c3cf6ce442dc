/** Fields of forms: each with its label, a hint, and what the bridge says is wrong with it. */
import { type ComponentChildren, h } from 'preact'
import { useId } from 'preact/hooks'
import type { ApiProblem } from '../../shell/api.ts'
import { StateMark } from '../state.ts'
import { visibleText } from '../text.ts'

interface FieldProps {
  label: string
  value: string
  onValue: (value: string) => void
  hint?: ComponentChildren
  /** What is wrong with the value. */
  error?: string | null
  isDisabled?: boolean
}

/** What the bridge says is wrong with one member of a body, e.g. `url`, or with something inside it; null for nothing. */
export function errorOf(problem: ApiProblem | null, member: string): string | null {
  const found = (problem?.errors ?? []).filter(({ field }) => isWithin(field, member))
  return found.length === 0 ? null : found.map(({ message }) => message).join('; ')
}

/** The problem where it is about none of these members; null where a field shows it. */
export function problemBeside(problem: ApiProblem | null, members: readonly string[]): ApiProblem | null {
  if (problem === null || problem.errors.length === 0) return problem
  const isShown = problem.errors.every(({ field }) => members.some((member) => isWithin(field, member)))
  return isShown ? null : problem
}

function isWithin(field: string, member: string): boolean {
  return field === member || field.startsWith(`${member}.`) || field.startsWith(`${member}[`)
}

/** A line of text. */
export function TextField(
  props: FieldProps & {
    type?: string
    placeholder?: string
    maxLength?: number
    isRequired?: boolean
    /** It gets the focus of a dialog. */
    isFirst?: boolean
  },
): ComponentChildren {
  const { type = 'text', placeholder, maxLength, isRequired, isFirst, value, onValue, isDisabled } = props
  return h(Field, {
    ...props,
    control: (own: object) =>
      h('input', {
        ...own,
        type,
        value,
        placeholder,
        maxLength,
        required: isRequired,
        autofocus: isFirst,
        disabled: isDisabled,
        autocomplete: 'off',
        autocapitalize: 'off',
        spellcheck: false,
        onInput: (event: Event) => onValue((event.currentTarget as HTMLInputElement).value),
      }),
  })
}

/** A choice of one. */
export function ChoiceField(
  props: FieldProps & { options: readonly (readonly [string, string])[] },
): ComponentChildren {
  const { options, value, onValue, isDisabled } = props
  return h(Field, {
    ...props,
    control: (own: object) =>
      h(
        'select',
        {
          ...own,
          value,
          disabled: isDisabled,
          onChange: (event: Event) => onValue((event.currentTarget as HTMLSelectElement).value),
        },
        options.map(([key, name]) =>
          h('option', { key, value: key, selected: key === value }, visibleText(name)),
        ),
      ),
  })
}

function Field({
  label,
  hint,
  error = null,
  control,
}: FieldProps & { control: (own: object) => ComponentChildren }): ComponentChildren {
  const id = useId()
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    control({ id, 'aria-invalid': error !== null, 'aria-describedby': `${id}-below` }),
    h(
      'div',
      { id: `${id}-below`, class: 'field-below' },
      error !== null && h('p', { role: 'alert' }, h(StateMark, { tone: 'bad' }, sentence(label, error))),
      hint !== undefined && h('p', { class: 'hint' }, hint),
    ),
  )
}

/** The bridge's messages have no subject: "must begin with https://". */
function sentence(label: string, message: string): string {
  const isPredicate = /^(must|is|has|does|are|may|cannot)\b/.test(message)
  return visibleText(isPredicate ? `${label} ${message}` : message)
}
