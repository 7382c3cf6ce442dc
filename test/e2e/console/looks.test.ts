/** Every screen of the console, looked at by axe-core in both colours and in a wide and a narrow window. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserPage, openInChromium } from '../../support/chromium.ts'
import { accessibilityFaults, beyondWindow } from '../../support/console/console-browser.ts'
import { type ConsoleDesk, startConsoleDesk } from '../../support/console/console-desk.ts'
import { eventually, getJson } from '../../support/http/api-client.ts'
import { hasTool } from '../../support/tools.ts'

/** Screens by their path; those of items, days and the quota are in reading-screens.test.ts. */
const SCREENS = ['', 'feed', 'status']
/** Every screen; that of an item gets the newest one. */
const ALL_SCREENS = ['', 'feed', 'item', 'day', 'quota', 'webhooks', 'streams', 'tokens', 'status'] as const
/** Windows of 1440 by 900 and of 1280 by 1024 pixels at a zoom of 200 %, in CSS pixels. */
const ZOOMED = [
  { width: 720, height: 450, scale: 2 },
  { width: 640, height: 512, scale: 2 },
]
const USUAL = { dark: false, width: 1440, height: 900, scale: 1, reducedMotion: false, forcedColors: false }

/** What is open on a screen is looked at, too. */
const OPENED: Readonly<Record<string, readonly string[]>> = { feed: ['/', '?'] }

describe.skipIf(!hasTool('chromium', 'chromium'))('every screen', () => {
  let desk: ConsoleDesk
  let page: BrowserPage

  beforeAll(async () => {
    desk = await startConsoleDesk({ scenario: 'demo' })
    page = await openInChromium(`${desk.url}/console/`)
    await eventually(
      () => getJson<{ log: { latest: number } }>(`${desk.url}/v1/status`),
      ({ log }) => log.latest > 300,
      60_000,
    )
    await desk.show(page, '')
  })

  afterAll(async () => {
    await page?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })

  const settled = async (): Promise<void> => {
    await eventually(
      () =>
        page.evaluate<boolean>(
          "document.querySelector('main h1') !== null && !document.querySelector('main [aria-busy=true]')",
        ),
      Boolean,
    )
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 800)).then(() => 0)')
  }
  for (const screen of SCREENS) {
    it.each([
      ['light', 1440],
      ['dark', 1440],
      ['light', 320],
      ['dark', 320],
    ] as const)(
      `'${screen}' has nothing that axe finds, in %s at %i px, and fits the window`,
      async (colour, width) => {
        await page.emulate({ dark: colour === 'dark', width, height: 900 })
        await page.open(`${desk.url}/console/${screen}`)
        await settled()
        expect(await accessibilityFaults(page)).toEqual([])
        expect(await beyondWindow(page)).toEqual([])
        for (const key of OPENED[screen] ?? []) {
          await page.press(key)
          await settled()
          expect(await accessibilityFaults(page), key).toEqual([])
          await page.press('Escape')
        }
      },
    )
  }

  /** Opens a screen and waits until it shows what it asked for. */
  const openScreen = async (screen: string): Promise<void> => {
    const { data } = await getJson<{ data: { id: string }[] }>(`${desk.url}/v1/disclosures?tail=1`)
    const path = screen === 'item' ? `item/${encodeURIComponent(data[0]?.id ?? '')}` : screen
    await page.open(`${desk.url}/console/${path}`)
    await settled()
  }

  it.each(ALL_SCREENS)(`'%s' fits its window at twice its size`, async (screen) => {
    for (const look of ZOOMED) {
      await page.emulate({ ...USUAL, ...look })
      await openScreen(screen)
      expect(await page.evaluate('devicePixelRatio')).toBe(2)
      expect(await beyondWindow(page), JSON.stringify(look)).toEqual([])
    }
    await page.emulate(USUAL)
  })

  it.each(ALL_SCREENS)(
    `'%s' has nothing that axe finds, and nothing that moves, in forced colours with reduced motion`,
    async (screen) => {
      await page.emulate({ ...USUAL, reducedMotion: true, forcedColors: true })
      await openScreen(screen)
      expect(await page.evaluate("matchMedia('(forced-colors: active)').matches")).toBe(true)
      expect(await accessibilityFaults(page)).toEqual([])
      const moving = `[...document.querySelectorAll('*')].filter((one) => {
        const { transitionDuration, animationDuration, scrollBehavior } = getComputedStyle(one)
        return [transitionDuration, animationDuration].some((text) => parseFloat(text) > 0) || scrollBehavior === 'smooth'
      }).map((one) => one.outerHTML.slice(0, 80))`
      expect(await page.evaluate(moving)).toEqual([])
      await page.emulate(USUAL)
    },
  )

  it('the form to sign in has nothing that axe finds, and fits a narrow window', async () => {
    await page.evaluate("fetch('/v1/sessions/current', { method: 'DELETE' }).then(() => 0)")
    for (const dark of [false, true]) {
      await page.emulate({ dark, width: 320 })
      await page.open(`${desk.url}/console/`)
      await settled()
      expect(await accessibilityFaults(page)).toEqual([])
      expect(await beyondWindow(page)).toEqual([])
    }
    expect(page.errors()).toEqual([])
  })
})
