/** Copies text to the clipboard, also on plain http, where browsers keep their clipboard interface to themselves. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { useConsole } from '../shell/services.ts'

/** Copies the text; false where the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'off-screen'
  document.body.append(field)
  const focused = document.activeElement
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isCopied
}

const SAID_MS = 2000

/** A button that copies and says so. `what`: for the button's name, e.g. "the filter". */
export function CopyButton({ text, what }: { text: string; what: string }): ComponentChildren {
  const { clock } = useConsole()
  const [said, setSaid] = useState<string | null>(null)
  const copy = async (): Promise<void> => {
    setSaid((await copyText(text)) ? 'Copied' : 'The browser refused')
    clock.after(SAID_MS, () => setSaid(null))
  }
  return h(
    'button',
    { type: 'button', class: 'quiet', onClick: () => void copy(), 'aria-label': `Copy ${what}` },
    h('span', { 'aria-live': 'polite' }, said ?? 'Copy'),
  )
}
