/** The part of a filter's form with the fields that may be at the top, in `exclude` and in each member of `filters`. */
import { type ComponentChildren, h } from 'preact'
import { useId } from 'preact/hooks'
import type { PlainFilter } from '../../../../../clients/typescript/src/messages.ts'
import { useConsole } from '../../shell/services.ts'
import { Combobox } from '../combobox.ts'
import { visibleText } from '../text.ts'
import {
  identifierField,
  importanceLevels,
  importanceOf,
  type ListField,
  levelsOf,
  listFields,
} from './filter-values.ts'
import type { FilterVocabulary } from './vocabulary.ts'

/** What the fields edit. */
export interface PlainFieldsProps {
  filter: PlainFilter
  vocabulary: FilterVocabulary
  onChange: (filter: PlainFilter) => void
}

const listNames: Readonly<Record<ListField, string>> = {
  symbols: 'symbol',
  isins: 'ISIN',
  leis: 'LEI',
  fcaCategories: 'category',
  nativeCategories: 'group',
}

/** The fields. */
export function PlainFields(props: PlainFieldsProps): ComponentChildren {
  const { filter, onChange } = props
  const set: FieldProps['set'] = (name, value) => onChange(withField(filter, name, value))
  const add = (field: ListField, value: string): void => {
    const values = filter[field] ?? []
    if (!values.includes(value)) set(field, [...values, value])
  }
  return h(
    'div',
    { class: 'plain-fields' },
    h(IssuerField, { onAdd: add }),
    h(CategoryField, { vocabulary: props.vocabulary, onAdd: add }),
    h(Chips, { filter, onChange }),
    h(MatchField, { filter, set }),
    h(ImportanceField, { filter, set }),
    h(HeadlineField, { filter, set }),
    h(SymbolField, { filter, set }),
    h(TypesField, { filter, set }),
    h(PresetField, { filter, set, vocabulary: props.vocabulary }),
  )
}

interface FieldProps {
  filter: PlainFilter
  /** undefined takes the field out. */
  set: <Name extends keyof PlainFilter>(name: Name, value: PlainFilter[Name] | undefined) => void
}

function withField(filter: PlainFilter, name: keyof PlainFilter, value: unknown): PlainFilter {
  const { [name]: _, ...others } = filter
  return value === undefined ? others : { ...others, [name]: value }
}

function IssuerField({ onAdd }: { onAdd: (field: ListField, value: string) => void }): ComponentChildren {
  const { api } = useConsole()
  const suggest = async (text: string) => {
    const result = await api.ask('GET /v1/issuers', { with: { prefix: text.slice(0, 200) } })
    if (!result.ok) return []
    return result.value.data.flatMap(({ name, symbol, isin, lei }, index) => {
      const value = symbol ?? lei ?? isin
      if (value === null) return []
      const code = visibleText(symbol ?? isin ?? lei ?? '')
      return [{ key: `${index}`, code, name: visibleText(name ?? ''), value }]
    })
  }
  return h(Combobox<string>, {
    label: 'Issuer',
    placeholder: 'symbol, name, ISIN or LEI',
    suggest,
    onPick: (value) => onAdd(identifierField(value), value),
    onText: (text) => onAdd(identifierField(text), text.toUpperCase()),
  })
}

function CategoryField({
  vocabulary,
  onAdd,
}: {
  vocabulary: FilterVocabulary
  onAdd: (field: ListField, value: string) => void
}): ComponentChildren {
  const fieldOf = (kind: 'fca' | 'native'): ListField =>
    kind === 'fca' ? 'fcaCategories' : 'nativeCategories'
  const suggest = (text: string) => {
    const wanted = text.toLowerCase()
    return vocabulary.categories
      .filter(
        ({ code, name }) => code.toLowerCase().startsWith(wanted) || name?.toLowerCase().includes(wanted),
      )
      .map((category) => ({
        key: `${category.kind} ${category.code}`,
        code: visibleText(category.code),
        name: `${visibleText(category.name ?? '')}${category.kind === 'native' ? ' (group)' : ''}`,
        value: category,
      }))
  }
  return h(Combobox<FilterVocabulary['categories'][number]>, {
    label: 'Category',
    placeholder: 'code or name',
    suggest,
    source: vocabulary.categories,
    onPick: ({ kind, code }) => onAdd(fieldOf(kind), code),
    onText: (text) => onAdd('fcaCategories', text),
  })
}

function Chips({ filter, onChange }: Pick<PlainFieldsProps, 'filter' | 'onChange'>): ComponentChildren {
  const chips = listFields.flatMap((field) => (filter[field] ?? []).map((value) => ({ field, value })))
  if (chips.length === 0) return null
  const remove = ({ field, value }: (typeof chips)[number]): void =>
    onChange({ ...filter, [field]: (filter[field] ?? []).filter((one) => one !== value) })
  return h(
    'ul',
    { class: 'chips wide', 'aria-label': 'Chosen' },
    chips.map((chip) =>
      h(
        'li',
        { key: `${chip.field} ${chip.value}` },
        h('span', { class: 'chip-kind' }, listNames[chip.field]),
        ' ',
        h('bdi', null, visibleText(chip.value)),
        h(
          'button',
          {
            type: 'button',
            class: 'quiet',
            'aria-label': `Remove ${listNames[chip.field]} ${chip.value}`,
            onClick: () => remove(chip),
          },
          '✕',
        ),
      ),
    ),
  )
}

function MatchField({ filter, set }: FieldProps): ComponentChildren {
  const hasIdentifiers = [filter.symbols, filter.isins, filter.leis].some((list) => (list ?? []).length > 0)
  if (!hasIdentifiers && filter.match === undefined) return null
  return h(Choice, {
    label: 'Whose announcements',
    value: filter.match ?? '',
    options: [
      ['', 'the issuer’s own'],
      ['related', 'also others’ about it'],
      ['exact', 'tagged with exactly this instrument'],
    ],
    onChoose: (value) => set('match', value === '' ? undefined : (value as 'related' | 'exact')),
  })
}

function ImportanceField({ filter, set }: FieldProps): ComponentChildren {
  const levels = levelsOf(filter.importance)
  return h(Checks, {
    label: 'Importance',
    options: importanceLevels.toReversed().map((level): [string, string] => [level, level]),
    chosen: levels,
    onChoose: (chosen) => set('importance', importanceOf(chosen)),
  })
}

function HeadlineField({ filter, set }: FieldProps): ComponentChildren {
  const id = useId()
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, 'Headline contains'),
    h('input', {
      id,
      type: 'text',
      maxLength: 200,
      value: filter.q ?? '',
      onInput: (event: Event) => {
        const { value } = event.currentTarget as HTMLInputElement
        set('q', value === '' ? undefined : value)
      },
    }),
  )
}

function SymbolField({ filter, set }: FieldProps): ComponentChildren {
  return h(Choice, {
    label: 'Listing symbol',
    value: filter.hasSymbol === undefined ? '' : `${filter.hasSymbol}`,
    options: [
      ['', 'with or without'],
      ['true', 'with one'],
      ['false', 'without one'],
    ],
    onChoose: (value) => set('hasSymbol', value === '' ? undefined : value === 'true'),
  })
}

function TypesField({ filter, set }: FieldProps): ComponentChildren {
  return h(Checks, {
    label: 'Types',
    options: [
      ['published', 'new'],
      ['amended', 'amended'],
      ['gap', 'gaps'],
    ],
    chosen: filter.types ?? [],
    onChoose: (chosen) => set('types', chosen.length === 0 ? undefined : (chosen as PlainFilter['types'])),
  })
}

function PresetField({
  filter,
  set,
  vocabulary,
}: FieldProps & { vocabulary: FilterVocabulary }): ComponentChildren {
  const chosen = vocabulary.presets.find(({ name }) => name === filter.preset)
  return h(
    'div',
    { class: 'field wide' },
    h(Choice, {
      label: 'Preset',
      value: filter.preset ?? '',
      options: [
        ['', 'none'],
        ...vocabulary.presets.map(({ name }): [string, string] => [name, name]),
        ...(filter.preset !== undefined && chosen === undefined
          ? [[filter.preset, filter.preset] as [string, string]]
          : []),
      ],
      onChoose: (value) => set('preset', value === '' ? undefined : value),
    }),
    chosen !== undefined && h('p', { class: 'hint' }, chosen.meaning),
  )
}

/** A choice of one. */
function Choice({
  label,
  value,
  options,
  onChoose,
}: {
  label: string
  value: string
  options: readonly (readonly [string, string])[]
  onChoose: (value: string) => void
}): ComponentChildren {
  const id = useId()
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    h(
      'select',
      { id, value, onChange: (event: Event) => onChoose((event.currentTarget as HTMLSelectElement).value) },
      options.map(([key, name]) =>
        h('option', { key, value: key, selected: key === value }, visibleText(name)),
      ),
    ),
  )
}

/** A choice of several; none means all. */
function Checks({
  label,
  options,
  chosen,
  onChoose,
}: {
  label: string
  options: readonly (readonly [string, string])[]
  chosen: readonly string[]
  onChoose: (chosen: string[]) => void
}): ComponentChildren {
  return h(
    'fieldset',
    { class: 'checks' },
    h('legend', null, label),
    options.map(([key, name]) =>
      h(
        'label',
        { key, class: 'check' },
        h('input', {
          type: 'checkbox',
          checked: chosen.includes(key),
          onChange: () =>
            onChoose(chosen.includes(key) ? chosen.filter((one) => one !== key) : [...chosen, key]),
        }),
        ' ',
        name,
      ),
    ),
  )
}
