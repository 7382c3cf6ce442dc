/**
 * The screen of webhooks in a real browser: an endpoint is created, receives, fails, is looked into, gets its events again, is
 * changed and deleted; and whatever its receiver answers stays text.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserPage, openInChromium } from '../../support/chromium.ts'
import {
  accessibilityFaults,
  beyondWindow,
  shownText,
  untilShown,
} from '../../support/console/console-browser.ts'
import { type ConsoleDesk, startConsoleDesk } from '../../support/console/console-desk.ts'
import { fillField, giveToken, pressButton } from '../../support/console/console-forms.ts'
import { eventually } from '../../support/http/api-client.ts'
import { hostileTexts } from '../../support/product/hostile-texts.ts'
import { hasTool } from '../../support/tools.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver, type WebhookReceiver } from '../../support/webhooks/webhook-receiver.ts'

const LOOKS = [320, 1440].flatMap((width) => [false, true].map((dark) => ({ width, dark })))
/** No address of the nets that the operator allows. */
const OUTSIDE = '192.0.2.9'
/** The sandbox publishes items of its own; none has this headline. */
const ITEM = { headline: 'Zebra Results', issuer: { name: 'Example Holdings PLC' }, category: [] }

describe.skipIf(!hasTool('chromium', 'chromium'))('the screen of webhooks', () => {
  let desk: ConsoleDesk
  let page: BrowserPage
  let receiver: WebhookReceiver
  let answer: { status: number; body: string } = { status: 204, body: '' }
  let id = ''
  let secret = ''

  beforeAll(async () => {
    receiver = await startReceiver((response) => response.writeHead(answer.status).end(answer.body))
    desk = await startConsoleDesk({}, LOCAL_RECEIVERS)
    page = await openInChromium(`${desk.url}/console/feed`)
    await desk.show(page, 'webhooks')
  })

  afterAll(async () => {
    await page?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
    await receiver?.[Symbol.asyncDispose]()
  })

  const isInvalid = (): Promise<string> => shownText(page, '.field:has([aria-invalid=true])')
  const received = (count: number): Promise<number> =>
    eventually(
      () => receiver.received.length,
      (found) => found >= count,
      30_000,
    )

  it('says where a URL is typed what is wrong with it, before and after the bridge is asked', async () => {
    await untilShown(page, 'main', 'There is no webhook yet')
    await page.click('a[href="/console/webhooks?new=1"]')
    await fillField(page, 'URL', 'https://user:word@hooks.example/')
    expect(await eventually(isInvalid, (text) => text !== '')).toContain('URL must hold no user or password')
    await fillField(page, 'URL', `http://${OUTSIDE}/in`)
    await eventually(isInvalid, (text) => text === '')
    await pressButton(page, 'Create the webhook')
    await giveToken(page)
    expect(await eventually(isInvalid, (text) => text !== '')).toContain('must not lead to a private')
    // The dialog that unlocked it is gone: the browser reports that later, and nothing may be sent again.
    const sent =
      "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/v1/webhooks')).length"
    expect(await page.evaluate(sent)).toBe(1)
  })

  it('tries the filter, creates the endpoint and shows its secret once', async () => {
    await fillField(page, 'URL', receiver.url)
    await fillField(page, 'Description', 'the desk')
    await pressButton(page, 'Edit the filter')
    await fillField(page, 'Headline contains', 'zebra')
    await untilShown(page, '.trial', /would have matched|no announcements yet/)
    await pressButton(page, 'Apply')
    await untilShown(page, 'main .chips', 'headline with “zebra”')
    await pressButton(page, 'How they are sent')
    await pressButton(page, 'Add a header')
    await fillField(page, 'Name of header 1', 'x-api-key')
    await fillField(page, 'Value of header 1', "key'9")
    await pressButton(page, 'Create the webhook')
    secret = (await untilShown(page, '.secret-once code', 'whsec_')).trim()
    id = await page.evaluate<string>("location.pathname.split('/').pop()")
    expect(id).toMatch(/^ep_/)
    // Text that was typed early and lost would have made an endpoint for everything.
    const read = `fetch('/v1/webhooks/${id}').then((answer) => answer.json()).then(({ filter }) => filter)`
    expect(await page.evaluate(read)).toEqual({ q: 'zebra' })
    await pressButton(page, 'I have stored it')
    await eventually(
      () => page.evaluate<string>('document.documentElement.outerHTML'),
      (html) => !html.includes(secret),
    )
  })

  it('shows each delivery, and its receiver has what was signed', async () => {
    await desk.publish([ITEM])
    await received(1)
    expect(receiver.verify(secret)).toHaveLength(1)
    const row = await untilShown(page, '.list tbody tr', '204, accepted')
    expect(row).toContain('urn:newsml:')
    await untilShown(page, '.endpoint-state', 'delivers')
  })

  it('shows a failure with answer, headers, payload, next try and commands that the receiver takes', async () => {
    answer = { status: 503, body: 'down <b>for</b> maintenance \u202e' }
    await desk.publish([{ ...ITEM, headline: "Zebra Results of O'Neill $HOME `id`" }])
    await untilShown(page, '.list tbody tr', '503, receiver failed')
    await untilShown(page, '.endpoint-state', 'failing for')
    await page.click('.list tbody button')
    const detail = await untilShown(page, '.attempt', 'From a terminal')
    expect(detail).toContain('down <b>for</b> maintenance \u27e8U+202E\u27e9')
    expect(detail).toContain('The next try is')
    expect(detail).toContain("O'Neill")
    expect(detail).toContain('x-api-key: ••••')
    expect(detail).not.toContain("key'9")
    expect(detail).toContain('-H "x-api-key: $X_API_KEY"')
    await pressButton(page, 'Show values')
    await untilShown(page, '.attempt dl', "x-api-key: key'9")
    answer = { status: 204, body: '' }
    const before = receiver.received.length
    const commands = await page.evaluate<string>("document.querySelector('pre.command').textContent")
    const env = { ...process.env, WEBHOOK_SECRET: secret }
    await promisify(execFile)('bash', ['-c', commands], { env })
    await received(before + 1)
    expect(receiver.verify(secret).length).toBeGreaterThan(before)
    const [byBridge, byHand] = [receiver.received[before - 1], receiver.received.at(-1)]
    expect(byHand?.body).toBe(byBridge?.body)
    expect(byHand?.headers['webhook-id']).toBe(byBridge?.headers['webhook-id'])
    expect(byHand?.headers['x-api-key']).toBe("key'9")
  })

  it('lists what waits with a countdown, and sends one event again', async () => {
    answer = { status: 500, body: 'no' }
    await desk.publish([{ ...ITEM, headline: 'Zebra Results, third' }])
    await desk.show(page, `webhooks/${id}?view=deliveries`)
    const row = await untilShown(page, '.list tbody tr', 'waits')
    expect(row).toMatch(/50[03]\s+(in \d|due)/)
    answer = { status: 204, body: '' }
    const before = receiver.received.length
    await pressButton(page, 'Resend this event')
    await received(before + 1)
    await untilShown(page, 'section.panel', /Nothing waits/)
  })

  it('sends a test and shows the whole answer', async () => {
    answer = { status: 418, body: '<script>ran(1)</script>\nteapot' }
    await pressButton(page, 'Send a test')
    await pressButton(page, 'Send it')
    const shown = await untilShown(page, 'dialog', 'teapot')
    expect(shown).toContain('418, refused')
    expect(shown).toContain('<script>ran(1)</script>')
    answer = { status: 204, body: '' }
    await pressButton(page, 'Close')
  })

  it('counts a replay first, then sends it and shows its progress', async () => {
    const before = receiver.received.length
    await pressButton(page, 'Replay')
    await pressButton(page, 'Last 7 days')
    await untilShown(page, '.replay-count', /^3 events/)
    expect(receiver.received).toHaveLength(before)
    await pressButton(page, 'Send 3 events again')
    await received(before + 3)
    await eventually(
      () => page.evaluate('location.search'),
      (query) => query === '?view=replays',
    )
    await untilShown(page, 'section.panel', 'No replay is under way')
  })

  it('lists a replay that waits, and ends it', async () => {
    await pressButton(page, 'Pause')
    await untilShown(page, '.endpoint-state', 'paused')
    const before = receiver.received.length
    await pressButton(page, 'Replay')
    await pressButton(page, 'Last 7 days')
    await pressButton(page, 'Send 3 events again')
    await untilShown(page, 'section.panel', /3 events: what the filter matches/)
    await pressButton(page, 'End the replay')
    await untilShown(page, 'section.panel', 'No replay is under way')
    await pressButton(page, 'Resume')
    await untilShown(page, '.endpoint-state', /delivers|failing/)
    expect(receiver.received).toHaveLength(before)
  })

  it('changes settings, and rotates the secret with its overlap', async () => {
    await desk.show(page, `webhooks/${id}?view=settings`)
    await pressButton(page, 'Change the settings')
    await fillField(page, 'Most deliveries a second', 'many')
    await pressButton(page, 'Save')
    expect(await eventually(isInvalid, (text) => text !== '')).toContain('must be a number')
    // Another browser is faster.
    await askEndpoints(desk.url, 'PATCH', `/${id}`, { description: 'the other desk', rateLimit: 20 })
    await fillField(page, 'Most deliveries a second', '50')
    await pressButton(page, 'Save')
    expect(await untilShown(page, 'main [role=alert]', 'Somebody else')).toContain('the deliveries a second')
    await eventually(
      () =>
        page.evaluate<string[]>(
          "[...document.querySelectorAll('#endpoint-form input')].map(({ value }) => value)",
        ),
      (values) => values.includes('the other desk') && values.includes('50'),
    )
    await pressButton(page, 'Save')
    await untilShown(page, '.facts', '50 deliveries')
    await untilShown(page, 'h1', 'the other desk')
    await pressButton(page, 'Rotate the secret')
    const overlap = "document.querySelector('.overlap svg').getAttribute('aria-label')"
    await eventually(
      () => page.evaluate<string>(overlap),
      (label) => /signs until/.test(label),
    )
    await pressButton(page, 'Rotate it')
    const rotated = (await untilShown(page, '.secret-once code', 'whsec_')).trim()
    expect(rotated).not.toBe(secret)
    const before = receiver.received.length
    await pressButton(page, 'Send a test')
    await pressButton(page, 'Send it')
    await received(before + 1)
    await untilShown(page, 'dialog', '204, accepted')
    expect(receiver.received.at(-1)?.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
    await pressButton(page, 'Close')
  })

  it.each(LOOKS)('has no fault of accessibility, at $width px, dark: $dark', async (look) => {
    await page.emulate(look)
    const screens = [
      'webhooks',
      'webhooks?new=1',
      ...['', '?view=deliveries&state=delivered', '?view=settings', '?view=replays'].map(
        (view) => `webhooks/${id}${view}`,
      ),
    ]
    for (const screen of screens) {
      await desk.show(page, screen)
      await eventually(
        () =>
          page.evaluate<boolean>(
            "document.querySelector('main .panel') !== null && !document.querySelector('main [aria-busy=true]')",
          ),
        Boolean,
      )
      if (screen.endsWith(id)) {
        await page.click('.list tbody button')
        await untilShown(page, '.attempt', 'Answer of the receiver')
      }
      expect(await accessibilityFaults(page), screen).toEqual([])
      expect(await beyondWindow(page), screen).toEqual([])
    }
  })

  it('shows hostile answers, URLs and descriptions as text', async () => {
    await page.emulate({ width: 1440, dark: false })
    answer = { status: 500, body: hostileTexts.join('\n') }
    const url = `${receiver.url}?q='"><img/src/onerror=ran(1)>javascript:ran(2)`
    for (const description of ['<img src=x onerror=ran(3)>', '{{constructor("ran(5)")()}} %001']) {
      await askEndpoints(desk.url, 'POST', '', {
        url,
        description,
        headers: { 'x-odd': '<svg onload=ran(4)>' },
      })
    }
    const traces = `[...found, ...[...document.querySelectorAll('main img, main iframe, main script, main a:not([href^="/console/"])')].map((one) => one.outerHTML),
      ...[...document.querySelectorAll('main *')].flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith('on')))]`
    await desk.show(page, 'webhooks')
    await page.evaluate('window.found = []; window.ran = (which) => found.push(which); 0')
    await untilShown(page, 'main', '%001')
    expect(await page.evaluate(traces)).toEqual([])
    await desk.publish([{ ...ITEM, headline: hostileTexts[1] ?? '' }])
    await page.click('.list tbody tr:nth-child(2) a')
    await untilShown(page, '.list tbody tr', '500, receiver failed')
    await page.click('.list tbody button')
    await untilShown(page, '.attempt', 'From a terminal')
    await pressButton(page, 'Show values')
    const shown = await untilShown(page, '.attempt', '<svg onload=ran(4)>')
    expect(shown).toContain('<script>ran(1)</script>')
    expect(shown).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]/)
    expect(await page.evaluate(traces)).toEqual([])
    expect(page.errors()).toEqual([])
  })

  // One at a time: of an answer 1 KB is kept.
  it('shows each of sixty hostile answers to a test as text', async () => {
    await desk.show(page, `webhooks/${id}`)
    await page.evaluate('window.found = []; window.ran = (which) => found.push(which); 0')
    await pressButton(page, 'Send a test')
    const traces = `[...found, ...[...document.querySelectorAll('dialog :is(img, iframe, object, embed, video, script, style, base, meta, a)')].map((one) => one.outerHTML),
      ...[...document.querySelectorAll('dialog *')].flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith('on')))]`
    for (const [index, text] of hostileTexts.entries()) {
      const status = 500 + index
      answer = { status, body: `${index} ${text}` }
      await pressButton(page, 'Send it')
      await untilShown(page, 'dialog', `${status}, receiver failed`)
      const shown = await shownText(page, 'dialog .answer')
      expect(shown).toMatch(new RegExp(`^${index} .`))
      expect(shown, `${index}`).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\u2028]/)
      expect(await page.evaluate(traces), `${index}`).toEqual([])
    }
    expect(hostileTexts).toHaveLength(60)
    expect(page.errors()).toEqual([])
    await pressButton(page, 'Close')
    answer = { status: 204, body: '' }
  })

  it('deletes the endpoint after it was said what that ends', async () => {
    await desk.show(page, `webhooks/${id}?view=settings`)
    await pressButton(page, 'Delete')
    await untilShown(page, 'dialog', 'It cannot be brought back')
    await pressButton(page, 'Delete it')
    await eventually(
      () => page.evaluate('location.pathname'),
      (path) => path === '/console/webhooks',
    )
    await eventually(
      () => shownText(page, '.list'),
      (text) => text.length > 0 && !text.includes('the other desk'),
    )
  })
})
