/** Tries a filter on the last events while it is typed: how many it would have matched, and what is wrong with it. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Filter } from '../../../../../clients/typescript/src/messages.ts'
import type { FilterTrialAnswer } from '../../shell/answers.ts'
import type { ApiProblem, ApiResult } from '../../shell/api.ts'
import { useConsole } from '../../shell/services.ts'
import { StateMark } from '../state.ts'
import { visibleText } from '../text.ts'
import { filterText, tidyFilter } from './filter-values.ts'

/** What the trial of a filter gave. */
export interface FilterTrial {
  /** The text of the filter that was tried last. */
  text: string
  result: ApiResult<FilterTrialAnswer> | null
}

const TYPING_MS = 300
const LAST = 5000

/** Tries the filter when it has not changed for a moment. */
export function useTrial(filter: Filter): FilterTrial & { isCurrent: boolean } {
  const { api, clock } = useConsole()
  const text = filterText(filter)
  const [trial, setTrial] = useState<FilterTrial>({ text: '', result: null })
  useEffect(() => {
    const ended = new AbortController()
    const run = async (): Promise<void> => {
      const body = { filter: tidyFilter(filter), last: LAST, limit: 1 }
      const result = await api.ask('POST /v1/filters/test', { body, signal: ended.signal })
      if (!ended.signal.aborted) setTrial({ text, result })
    }
    const cancel = clock.after(TYPING_MS, () => void run())
    return () => {
      cancel()
      ended.abort()
    }
  }, [text])
  return { ...trial, isCurrent: trial.result !== null && trial.text === text }
}

const count = new Intl.NumberFormat('en-GB')

/** The outcome in a line; the wrong fields each in one. */
export function TrialNote({ trial }: { trial: ReturnType<typeof useTrial> }): ComponentChildren {
  return h('div', { class: 'trial', 'aria-live': 'polite', 'aria-busy': !trial.isCurrent }, outcome(trial))
}

function outcome({ result }: FilterTrial): ComponentChildren {
  if (result === null) return h('p', null, 'Trying …')
  if (!result.ok) return h(Refusal, { problem: result.problem })
  const { tested, matched } = result.value
  if (tested === 0) return h('p', null, 'There are no announcements yet to try it on.')
  const share = (100 * matched) / tested
  const percent = share > 0 && share < 1 ? 'less than 1 %' : `${Math.round(share)} %`
  return h(
    'p',
    null,
    `Of the last ${count.format(tested)} this would have matched `,
    h('strong', null, count.format(matched)),
    ` (${percent}).`,
  )
}

function Refusal({ problem }: { problem: ApiProblem }): ComponentChildren {
  if (problem.errors.length === 0) return h('p', null, h(StateMark, { tone: 'bad' }, problem.detail))
  return h(
    'ul',
    { class: 'refusal' },
    problem.errors.map(({ field, message }, index) =>
      h(
        'li',
        { key: index },
        h(
          StateMark,
          { tone: 'bad' },
          h('code', null, visibleText(field.replace(/^filter\.?/, ''))),
          ' ',
          visibleText(message),
        ),
      ),
    ),
  )
}
