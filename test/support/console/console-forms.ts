/** Uses buttons and fields of the console by the names that a reader sees, and unlocks changes. */
import { ADMIN_TOKEN } from '../bridge-process.ts'
import type { BrowserPage } from '../chromium.ts'
import { eventually } from '../http/api-client.ts'

/** In an open dialog, else in the page: what is behind a dialog cannot be used. */
const SHOWN = `((selector) => [...(document.querySelector('dialog[open]') ?? document).querySelectorAll(selector)]
  .filter((one) => one.getClientRects().length > 0))`

/** Waits for the button or summary of this name, which may be its `aria-label`, and clicks it. */
export async function pressButton(page: BrowserPage, name: string): Promise<void> {
  const click = `(() => {
    const found = ${SHOWN}('button, summary').find((one) =>
      [one.getAttribute('aria-label'), one.textContent.trim()].includes(${JSON.stringify(name)}) && !one.disabled)
    found?.click()
    return found !== undefined
  })()`
  await eventually(() => page.evaluate<boolean>(click), Boolean)
}

/** Waits for the field of this label or `aria-label` and gives it the value, as somebody does who types or chooses it. */
export async function fillField(page: BrowserPage, label: string, value: string): Promise<void> {
  const fill = `(() => {
    const name = ${JSON.stringify(label)}
    const labelled = ${SHOWN}('label').find((one) => one.textContent.trim() === name)?.control
    const field = labelled ?? ${SHOWN}('[aria-label]').find((one) => one.ariaLabel === name)
    if (!field) return false
    field.focus()
    field.value = ${JSON.stringify(value)}
    field.dispatchEvent(new Event(field.localName === 'select' ? 'change' : 'input', { bubbles: true }))
    return true
  })()`
  await eventually(() => page.evaluate<boolean>(fill), Boolean)
}

/** Gives the token to the dialog that asks for it. */
export async function giveToken(page: BrowserPage, token: string = ADMIN_TOKEN): Promise<void> {
  await fillField(page, 'Token', token)
  await pressButton(page, 'Unlock')
  const isOver = () =>
    page.evaluate<boolean>(`document.querySelector('dialog input[type=password]') === null`)
  await eventually(isOver, Boolean)
}
