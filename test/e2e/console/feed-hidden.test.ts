/** A tab that nobody looks at sends and receives nothing, over sockets too; the feed goes on when it is shown. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserPage, openInChromium } from '../../support/chromium.ts'
import { type ConsoleDesk, startConsoleDesk } from '../../support/console/console-desk.ts'
import { type PageTraffic, recordTraffic } from '../../support/console/page-traffic.ts'
import { eventually, pullAll } from '../../support/http/api-client.ts'
import { hasTool } from '../../support/tools.ts'

/** Each screen asks for the status every second, and most for more every few seconds. The first case waits for slower ones too. */
const LOOK_MS = 6000
const SCREENS = ['feed', 'status', 'quota', 'webhooks', 'streams', 'tokens', 'day']

describe.skipIf(!hasTool('chromium', 'chromium'))('a hidden tab', () => {
  let desk: ConsoleDesk
  let page: BrowserPage
  let traffic: PageTraffic

  beforeAll(async () => {
    desk = await startConsoleDesk()
    page = await openInChromium(`${desk.url}/console/`)
    await desk.show(page, '')
    traffic = await recordTraffic(page)
  })

  afterAll(async () => {
    await page?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })

  const shown = () => page.text()
  const linesAfter = (from: number) => traffic.lines().slice(from)
  const hide = async (isHidden: boolean): Promise<void> => {
    await page.hide(isHidden)
    await eventually(
      () => page.evaluate<string>('document.visibilityState'),
      (state) => state === (isHidden ? 'hidden' : 'visible'),
    )
  }
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  /**
   * Waits until the sockets that were opened since are closed: requests are reported in the order in which the page makes them,
   * but a socket's last frames and its end come from the network, later than the page asks for it.
   */
  const untilClosed = (from: number) =>
    eventually(
      async () => traffic.openSockets(from),
      (open) => open === 0,
    )
  /** What is heard for so long. */
  const heardFor = async (ms: number): Promise<readonly string[]> => {
    const from = traffic.lines().length
    await wait(ms)
    return linesAfter(from)
  }

  it('asks for nothing and hears nothing on the overview, and shows afterwards what it missed', async () => {
    const before = traffic.lines().length
    await page.open(`${desk.url}/console/`)
    await eventually(shown, (text) => text.includes('Live'))
    await hide(true)
    await untilClosed(before)
    const from = traffic.lines().length
    await desk.publish([{ headline: 'Came unseen' }])
    await eventually(
      () => pullAll(desk.url),
      (events) => events.some(({ data }) => data.headline === 'Came unseen'),
    )
    // The glance asks every 15 s, and a stream has a heartbeat as often.
    await wait(17_000)
    expect(linesAfter(from)).toEqual([])
    await hide(false)
    await eventually(shown, (text) => text.includes('Came unseen') && text.includes('Live'))
    const after = linesAfter(from)
    for (const wanted of ['request GET /v1/status', 'request POST /v1/tickets', 'socket /v1/stream'])
      expect(after).toContain(wanted)
  })

  it.each(SCREENS)('asks for nothing on the screen %s', async (screen) => {
    const before = traffic.lines().length
    await page.open(`${desk.url}/console/${screen}`)
    await eventually(
      () => linesAfter(before),
      (lines) => lines.filter((line) => line === 'request GET /v1/status').length > 1,
    )
    await hide(true)
    await untilClosed(before)
    expect(await heardFor(LOOK_MS)).toEqual([])
    await hide(false)
  })

  it('connects no feed that is opened in it, and connects it when somebody looks', async () => {
    await hide(true)
    const from = traffic.lines().length
    await page.open(`${desk.url}/console/feed`)
    // A page that nobody has seen yet draws no screen: it does not ask who is signed in either.
    await eventually(() => page.evaluate<boolean>("document.querySelector('main') !== null"), Boolean)
    await wait(2000)
    const asked = linesAfter(from).filter((line) => /\/v1\/(?!me$)/.test(line))
    expect(asked).toEqual([])
    await hide(false)
    await eventually(shown, (text) => text.includes('Live') && text.includes('Came unseen'))
    expect(page.errors()).toEqual([])
  })
})
