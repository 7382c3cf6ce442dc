/** The overview and the shell in a real browser: a frozen bridge, a screen that cannot be drawn, a page that nobody sees. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserPage, openInChromium } from '../../support/chromium.ts'
import { shownText, untilShown } from '../../support/console/console-browser.ts'
import { type ConsoleDesk, startConsoleDesk } from '../../support/console/console-desk.ts'
import { pressButton } from '../../support/console/console-forms.ts'
import { eventually } from '../../support/http/api-client.ts'
import { hasTool } from '../../support/tools.ts'

const NOTHING_MISSING = /Is anything missing\?\s+No\s/

describe.skipIf(!hasTool('chromium', 'chromium'))('the overview', () => {
  let desk: ConsoleDesk
  let page: BrowserPage

  beforeAll(async () => {
    desk = await startConsoleDesk()
    page = await openInChromium(`${desk.url}/console/`)
    await desk.show(page, '')
    await desk.publish([{ headline: 'One to be late' }])
  })

  afterAll(async () => {
    await page?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })

  it('calls nothing good while the bridge is frozen, and says since when nothing is known', async () => {
    await untilShown(page, '.glance', NOTHING_MISSING)
    const { pid } = desk.bridge()
    process.kill(pid, 'SIGSTOP')
    try {
      const banner = await untilShown(page, '.banner', 'does not answer')
      expect(banner).toMatch(/What this page shows is from \d\d:\d\d:\d\d/)
      const glance = await untilShown(page, '.glance', /missing\?\s+Not known since \d\d:\d\d:\d\d/)
      expect(glance).toMatch(/Is it working\?\s+No answer/)
      expect(glance).toMatch(/How late is it\?\s+Not known/)
      expect(await page.evaluate("document.querySelectorAll('.glance-good').length")).toBe(0)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await untilShown(page, '.glance', NOTHING_MISSING)
    await eventually(
      () => shownText(page, '.banner'),
      (text) => text === '',
    )
  })

  it('lists no alert of a bridge that works, and what the doctor finds', async () => {
    await page.click('.bar a[href="/console/status"]')
    await untilShown(page, '[aria-label=Alerts]', 'None.')
    const said = await untilShown(page, '[aria-label=Doctor]', /\d+ checks found nothing wrong/)
    expect(said).toMatch(/settings warns: BRIDGE_|guard|Nothing to do/)
    await page.click('[aria-label=Doctor] summary')
    expect(await shownText(page, '[aria-label=Doctor]')).toContain('node fine: v24.')
    await page.click('.bar .brand')
    await untilShown(page, '.glance', NOTHING_MISSING)
  })

  it('says what to do where a screen cannot be drawn, and other screens go on', async () => {
    await page.evaluate(`(() => {
      const real = window.fetch
      window.fetch = async (url, options) =>
        String(url).startsWith('/v1/report') ? new Response('{"data":5}') : real(url, options)
    })()`)
    await page.click('.bar a[href="/console/day"]')
    const shown = await untilShown(page, 'main', 'This page has a fault')
    expect(shown).toContain('load the page again')
    expect(shown).toContain('is not a function')
    expect(page.errors().join()).toContain('is not a function')
    await page.click('.bar a[href="/console/status"]')
    await untilShown(page, 'main h1', 'Status')
    await page.click('.bar a[href="/console/day"]')
    await untilShown(page, 'main', 'This page has a fault')
    await pressButton(page, 'Load the page again')
    await untilShown(page, 'main', 'Calendar')
  })

  it('asks for nothing where it is opened in a tab that nobody sees, and opens when somebody does', async () => {
    await page.hide(true)
    await page.open(`${desk.url}/console/status`)
    expect(await page.evaluate('document.visibilityState')).toBe('hidden')
    await untilShown(page, 'h1', 'disclosure-bridge')
    // What a page does when it has been drawn begins within 0.1 s, hidden or not.
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 1000)).then(() => 0)')
    const asked =
      "performance.getEntriesByType('resource').filter(({ name }) => new URL(name).pathname.startsWith('/v1/')).length"
    expect(await page.evaluate(asked)).toBe(0)
    await page.hide(false)
    await untilShown(page, 'main h1', 'Status')
  })
})
