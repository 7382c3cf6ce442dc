/** Shows a state by a word, a shape and a colour, so that none of them is needed to read it. */
import { type ComponentChildren, h } from 'preact'
import { visibleText } from './text.ts'

/** How good a state is. */
export type StateTone = 'good' | 'notice' | 'bad' | 'idle'

const shapes: Readonly<Record<StateTone, string>> = {
  good: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1ZM7 11 4 8l1.2-1.2L7 8.6l3.8-3.8L12 6z',
  notice: 'M8 1 15.5 15H.5zM7.2 6v4.5h1.6V6zM7.2 11.8v1.6h1.6v-1.6z',
  bad: 'M4.9 1h6.2L15 4.9v6.2L11.1 15H4.9L1 11.1V4.9zM5.5 4.3 4.3 5.5 6.8 8l-2.5 2.5 1.2 1.2L8 9.2l2.5 2.5 1.2-1.2L9.2 8l2.5-2.5-1.2-1.2L8 6.8z',
  idle: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 2a5 5 0 1 1 0 10A5 5 0 0 1 8 3Z',
}

/** The shape of a tone; a screen reader passes it. */
export function StateShape({ tone }: { tone: StateTone }): ComponentChildren {
  return h(
    'svg',
    { class: `shape shape-${tone}`, viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true' },
    h('path', { 'fill-rule': 'evenodd', d: shapes[tone] }),
  )
}

/** A state. */
export function StateMark({
  tone,
  children,
}: {
  tone: StateTone
  children?: ComponentChildren
}): ComponentChildren {
  return h('span', { class: `state state-${tone}` }, h(StateShape, { tone }), ' ', children)
}

/** What went wrong, and what to do about it. */
export interface Problem {
  detail: string
  hint?: string | null
}

/** Text that says what went wrong, and what to do about it. */
export function ProblemNote({ problem }: { problem: Problem }): ComponentChildren {
  return h(
    'p',
    { class: 'note note-bad', role: 'alert' },
    h(StateShape, { tone: 'bad' }),
    h('span', null, sentence(problem.detail), problem.hint ? ` ${problem.hint}` : ''),
  )
}

/** A reason as a sentence: the bridge's details begin in lower case and end without a full stop. */
export function sentence(text: string): string {
  const shown = visibleText(text)
  return `${shown.slice(0, 1).toUpperCase()}${shown.slice(1)}${/[.!?]$/.test(shown) ? '' : '.'}`
}
