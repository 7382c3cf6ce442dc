/** Whatever upstream writes into an announcement, the console shows it as text: nothing runs, nothing hides, nothing loads. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserPage, openInChromium } from '../../support/chromium.ts'
import { type ConsoleDesk, startConsoleDesk } from '../../support/console/console-desk.ts'
import { eventually } from '../../support/http/api-client.ts'
import { hostileTexts } from '../../support/product/hostile-texts.ts'
import { hasTool } from '../../support/tools.ts'

/** What a text may have left behind; it must be empty. */
const TRACES = `(() => [
  ...(window.found ?? []),
  ...[...document.querySelectorAll('img, iframe, object, embed, video, base, form[action], script:not([src]), style, meta[http-equiv]')]
    .map((one) => one.outerHTML.slice(0, 80)),
  ...[...document.querySelectorAll('a')].filter(({ href }) => !/^https?:/.test(href)).map(({ href }) => href),
  ...[...document.querySelectorAll('*')].flatMap((one) =>
    one.getAttributeNames().filter((name) => name.startsWith('on')).map((name) => name + one.outerHTML.slice(0, 80))),
  ...(/[\\u0000-\\u0008\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u2028]/.test(document.body.innerText) ? ['hidden characters'] : []),
  ...(/[\\u0000-\\u001f\\u202a-\\u202e]/.test(document.title) ? ['title'] : []),
])()`

describe.skipIf(!hasTool('chromium', 'chromium'))('hostile texts', () => {
  let desk: ConsoleDesk
  let page: BrowserPage
  let guids: string[] = []

  beforeAll(async () => {
    desk = await startConsoleDesk()
    page = await openInChromium(`${desk.url}/console/`)
    // Every row is in the page then.
    await page.emulate({ height: 2600 })
    guids = await desk.publish(
      hostileTexts.map((text, index) => ({
        headline: text,
        issuer: { name: text, lei: text, instrument: { isin: text, symbol: { mnemonic: text } } },
        related: [{ name: text }],
        category: [
          { kind: 'FCA', code: text, name: text, description: text, importance: index % 2 ? 'ultra' : text },
          { kind: text, code: text, name: text },
        ],
        publication: [{ mime: text, url: text }],
        derivatives: { semanticHtml: { url: text } },
        replaces: { guid: text, version: 1 },
      })),
    )
    await desk.show(page, 'feed')
    await page.evaluate(
      "window.found = []; window.ran = (which) => found.push('ran ' + which); window.alert = window.ran; 0",
    )
  })

  afterAll(async () => {
    await page?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })

  it('sixty of them stand in the feed as text', async () => {
    expect(hostileTexts).toHaveLength(60)
    const rows = () =>
      page.evaluate<number>("Number(document.querySelector('.feed-table table')?.ariaRowCount ?? 1) - 1")
    await eventually(rows, (count) => count >= 60)
    expect(await page.evaluate(TRACES)).toEqual([])
  })

  const cases = hostileTexts.map((text, index) => [index + 1, JSON.stringify(text).slice(0, 40)] as const)
  const guidOf = (number: number): string => guids[number - 1] ?? ''

  it.each(cases)('text %i does nothing beside the feed: %s', async (number) => {
    const link = JSON.stringify(`a[href="/console/item/${encodeURIComponent(guidOf(number))}"]`)
    await page.evaluate(`document.querySelector(${link}).closest('tr').click()`)
    const chosen = () => page.evaluate<string>("document.querySelector('.quick-look')?.innerText ?? ''")
    await eventually(chosen, (text) => text.includes(guidOf(number)))
    expect(await page.evaluate(TRACES)).toEqual([])
  })

  it.each(cases)('text %i does nothing on the screen of its item: %s', async (number) => {
    const path = JSON.stringify(`/console/item/${encodeURIComponent(guidOf(number))}`)
    await page.evaluate(
      `history.pushState(null, '', ${path}); dispatchEvent(new PopStateEvent('popstate')); 0`,
    )
    const screen = () => page.evaluate<string>("document.querySelector('main.screen-item')?.innerText ?? ''")
    await eventually(screen, (text) => text.includes(guidOf(number)))
    expect(await page.evaluate(TRACES)).toEqual([])
  })

  it('nothing was blocked, because nothing was tried', () => {
    expect(page.errors()).toEqual([])
  })
})
