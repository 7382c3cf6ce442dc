/** Uses the console in a real browser as a person does: signs in, waits for what is shown, and has axe-core look for faults. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { BrowserPage } from '../chromium.ts'
import { eventually } from '../http/api-client.ts'

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Signs this browser in with a token, through the route of the form, and opens the screen at that path. */
export async function openSignedIn(page: BrowserPage, path: string, token: string): Promise<void> {
  const request = `fetch('/v1/sessions', { method: 'POST', headers: { authorization: ${JSON.stringify(`Bearer ${token}`)} } })`
  // A token that was made just now is known within a second.
  await eventually(
    () => page.evaluate<number>(`${request}.then((answer) => answer.status)`),
    (status) => status === 201,
    5000,
  )
  await page.open(new URL(path, await page.evaluate<string>('location.href')).href)
}

/** The text of the first such element, as it is shown; empty where there is none. */
export function shownText(page: BrowserPage, selector: string): Promise<string> {
  return page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`)
}

/** Waits until the text of the element holds this, and returns all of it. */
export function untilShown(page: BrowserPage, selector: string, wanted: string | RegExp): Promise<string> {
  return eventually(
    () => shownText(page, selector),
    (text) => (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)),
  )
}

/** What axe-core finds wrong with the page: rule and element, one line each. */
export async function accessibilityFaults(page: BrowserPage): Promise<string[]> {
  await page.evaluate(`${axe};0`)
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target.join(' ') + ' ' + failureSummary)))`)
}

/**
 * What reaches beyond the right edge of the window, so that a reader would have to scroll the page sideways. Boxes that scroll
 * by themselves, such as those of tables, may hold more; but not where rows are stacked, as in a narrow window: those fit.
 */
export function beyondWindow(page: BrowserPage): Promise<string[]> {
  return page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    const stacked = [...document.querySelectorAll('.scroll:has(> .stacking)')].filter((box) =>
      getComputedStyle(box.querySelector('tbody')).display === 'block' && box.scrollWidth > box.clientWidth)
    if (stacked.length > 0) return stacked.map((box) => box.ariaLabel + ' scrolls: ' + box.scrollWidth + ' px in ' + box.clientWidth)
    if (scrollWidth <= clientWidth) return []
    const wide = [...document.querySelectorAll('body *')].filter((one) =>
      one.closest('.scroll, .table-window, nav ul, pre') === null && one.getBoundingClientRect().right > clientWidth + 1)
    return [scrollWidth + ' px: ', ...wide.map((one) => one.tagName + '.' + one.getAttribute('class') + ' ' + one.textContent.slice(0, 40))]
  })()`)
}

/**
 * The ids of all announcements in the feed's table from the top, as a reader meets them by scrolling; one that stands twice is
 * there twice. For a feed to which nothing is added meanwhile.
 */
export function feedIds(page: BrowserPage): Promise<string[]> {
  return page.evaluate(`(async () => {
    const box = document.querySelector('.feed-table')
    const ids = new Map()
    for (let top = 0; top <= box.scrollHeight; top += box.clientHeight / 2) {
      box.scrollTop = top
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      for (const link of box.querySelectorAll('a[data-row]'))
        ids.set(Number(link.closest('tr').ariaRowIndex), link.dataset.row.split(' ')[2])
    }
    box.scrollTop = 0
    return [...ids].sort(([one], [other]) => one - other).map(([, id]) => id)
  })()`)
}

/** The id of the newest announcement in the feed's table; empty where there is none. */
export function newestFeedId(page: BrowserPage): Promise<string> {
  return page.evaluate("document.querySelector('.feed-table a[data-row]')?.dataset.row.split(' ')[2] ?? ''")
}
