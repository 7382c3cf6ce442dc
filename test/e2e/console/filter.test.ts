/** The form of a filter in a real browser: nothing that was typed is lost, and no misspelt filter becomes a wider one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserPage, openInChromium } from '../../support/chromium.ts'
import { shownText, untilShown } from '../../support/console/console-browser.ts'
import { type ConsoleDesk, startConsoleDesk } from '../../support/console/console-desk.ts'
import { fillField, pressButton } from '../../support/console/console-forms.ts'
import { eventually } from '../../support/http/api-client.ts'
import { hasTool } from '../../support/tools.ts'

const MISSPELT = '{"exclude":{"symbolz":["VOD"]}}'

describe.skipIf(!hasTool('chromium', 'chromium'))('the form of a filter', () => {
  let desk: ConsoleDesk
  let page: BrowserPage

  beforeAll(async () => {
    desk = await startConsoleDesk()
    page = await openInChromium(`${desk.url}/console/feed`)
  })

  afterAll(async () => {
    await page?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })

  const openForm = async (): Promise<void> => {
    await desk.show(page, 'feed')
    await page.click('.filter-button')
    await untilShown(page, '.filter-builder', 'Importance')
  }
  const json = (): Promise<string> =>
    page.evaluate("JSON.stringify(JSON.parse(document.querySelector('.filter-builder textarea').value))")
  const untilJson = (wanted: string): Promise<string> => eventually(json, (text) => text === wanted)
  const appliedFilter = (): Promise<string | null> =>
    page.evaluate("new URLSearchParams(location.search).get('filter')")
  const canApply = (): Promise<boolean> =>
    page.evaluate("!document.querySelector('.filter-builder button[type=submit]').disabled")

  it('says which nested field is misspelt, and applies nothing', async () => {
    await openForm()
    await fillField(page, 'JSON', MISSPELT)
    expect(await untilShown(page, '.trial', 'symbolz')).toContain('symbols')
    await eventually(canApply, (can) => !can)
    expect(await appliedFilter()).toBeNull()
  })

  it('keeps a misspelt field of an address, so that the bridge refuses the webhook', async () => {
    await desk.show(page, `webhooks?new=1&filter=${encodeURIComponent(MISSPELT)}`)
    await untilShown(page, 'main', 'symbolz')
    await untilShown(page, '.trial', 'symbols')
  })

  it('makes no webhook for everything of an address whose filter cannot be read', async () => {
    await desk.show(page, `webhooks?new=1&filter=${encodeURIComponent('{"symbols":"VOD"}')}`)
    await untilShown(page, '[role=alert]', 'cannot be read')
    expect(await shownText(page, 'form')).toBe('')
    await page.click('a[href="/console/webhooks?new=1"]')
    await untilShown(page, 'main', 'Every announcement')
  })

  it('takes text that was typed and not chosen when the reader goes on to apply it', async () => {
    await openForm()
    await page.click('input[placeholder="code or name"]')
    await page.type('NAV')
    await page.click('.filter-builder button[type=submit]')
    await eventually(appliedFilter, (text) => text === '{"fcaCategories":["NAV"]}')
  })

  it('keeps a filter under a name in this browser, brings it back after a reload, and forgets it', async () => {
    await openForm()
    await fillField(page, 'Headline contains', 'zebra')
    await fillField(page, 'Keep this filter as', 'Stripes')
    await pressButton(page, 'Keep')
    await untilShown(page, '.filter-builder .chips', 'Stripes')
    await openForm()
    await untilJson('{}')
    await pressButton(page, 'Stripes')
    await untilJson('{"q":"zebra"}')
    await page.click('.filter-builder button[type=submit]')
    await eventually(appliedFilter, (text) => text === '{"q":"zebra"}')
    await openForm()
    await pressButton(page, 'Forget Stripes')
    const kept = "localStorage.getItem('disclosure-bridge.filters')"
    await eventually(
      () => page.evaluate<string>(kept),
      (text) => text === '{}',
    )
  })

  it('leaves a field out again that was emptied, and waits with text that is no filter', async () => {
    await openForm()
    await fillField(page, 'Headline contains', 'zebra')
    await untilJson('{"q":"zebra"}')
    await fillField(page, 'Headline contains', '')
    await untilJson('{}')
    const hasPresets =
      "[...document.querySelectorAll('.filter-builder option')].some(({ value }) => value === 'results')"
    await eventually(() => page.evaluate<boolean>(hasPresets), Boolean)
    await fillField(page, 'Preset', 'results')
    await untilJson('{"preset":"results"}')
    await fillField(page, 'JSON', '{"preset":"results","symbols":[]}')
    await untilShown(page, '.filter-builder', 'This is no filter yet')
    expect(await canApply()).toBe(false)
    await pressButton(page, 'Clear')
    await untilJson('{}')
    await eventually(canApply, Boolean)
  })
})
