/** Asks before something is done that cannot be taken back, and says what it does. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiProblem, ApiResult } from '../../shell/api.ts'
import { Dialog } from '../dialog.ts'
import { ProblemNote } from '../state.ts'

/** The dialog. It stays open where `run` failed, and says why; who opened it closes it in `onDone`. */
export function Confirm<Value>({
  title,
  yes,
  no,
  run,
  onDone,
  onClose,
  children,
}: {
  title: string
  yes: string
  no: string
  run: () => Promise<ApiResult<Value>>
  onDone: (value: Value) => void
  onClose: () => void
  children?: ComponentChildren
}): ComponentChildren {
  const [problem, setProblem] = useState<ApiProblem | null>(null)
  const [isSending, setSending] = useState(false)
  const act = async (): Promise<void> => {
    setSending(true)
    const result = await run()
    setSending(false)
    if (result.ok) onDone(result.value)
    else setProblem(result.problem)
  }
  return h(
    Dialog,
    { title, onClose },
    children,
    problem !== null && h(ProblemNote, { problem }),
    h(
      'div',
      { class: 'buttons' },
      h('button', { type: 'button', class: 'danger', disabled: isSending, onClick: () => void act() }, yes),
      h('button', { type: 'button', onClick: onClose }, no),
    ),
  )
}
