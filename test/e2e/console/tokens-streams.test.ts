/** The screens of tokens and streams in a real browser: make a token, read with it, see its stream, end it, delete the token. */
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
import { bearer, eventually } from '../../support/http/api-client.ts'
import { hostileTexts } from '../../support/product/hostile-texts.ts'
import { hasTool } from '../../support/tools.ts'

const LOOKS = [320, 1440].flatMap((width) => [false, true].map((dark) => ({ width, dark })))
const NAMES = hostileTexts.filter((text) => text.length <= 100 && !/[\p{Cc}\p{Cs}]/u.test(text)).slice(0, 20)

describe.skipIf(!hasTool('chromium', 'chromium'))('the screens of tokens and streams', () => {
  let desk: ConsoleDesk
  let page: BrowserPage
  let token = ''
  const reading = new AbortController()

  const statusOf = async (shown: string): Promise<number> =>
    (await fetch(`${desk.url}/v1/me`, { headers: { authorization: `Bearer ${shown}` } })).status

  /** Follows the stream until it ends. */
  const follow = async (shown: string): Promise<'ended' | 'cut'> => {
    const filter = encodeURIComponent(JSON.stringify({ importance: 'high+', symbols: ['VOD'] }))
    const response = await fetch(`${desk.url}/v1/events?filter=${filter}`, {
      headers: { authorization: `Bearer ${shown}` },
      signal: reading.signal,
    })
    if (response.status !== 200) throw new Error(`${response.status}`)
    return response.text().then(
      () => 'ended',
      () => 'cut',
    )
  }

  beforeAll(async () => {
    desk = await startConsoleDesk()
    page = await openInChromium(`${desk.url}/console/feed`)
    await desk.show(page, 'tokens')
  })

  afterAll(async () => {
    reading.abort()
    await page?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })

  it('says that the session can only read, and asks for the token where a change is tried', async () => {
    for (const screen of ['streams', 'tokens']) {
      await desk.show(page, screen)
      await untilShown(page, 'main', 'This session can only read')
    }
    await pressButton(page, 'Make a token')
    await untilShown(page, 'dialog', 'Unlock changes')
    await giveToken(page)
    await untilShown(page, 'dialog', 'Make a token')
    expect(await shownText(page, 'main')).not.toContain('This session can only read')
  })

  it('names a refused tenant beside its field, and shows the new token once', async () => {
    await fillField(page, 'Name', 'dashboards')
    await fillField(page, 'Tenant', 'Two Words')
    await pressButton(page, 'Make the token')
    await untilShown(page, 'dialog .field:has([aria-invalid=true])', /Tenant must be 1 to 63/)
    await fillField(page, 'Tenant', 'desk')
    await pressButton(page, 'Make the token')
    token = (await untilShown(page, '.secret-once code', 'bridge_')).trim()
    await eventually(
      () => statusOf(token),
      (status) => status === 200,
    )
    const row = await untilShown(page, '.list tbody tr', 'dashboards')
    expect(row).toContain('Read announcements')
    expect(row).toMatch(/in 90 d/)
    await pressButton(page, 'I have stored it')
    await eventually(
      () => page.evaluate<string>('document.documentElement.outerHTML'),
      (html) => !html.includes(token),
    )
  })

  it('lists a stream with its token, filter, position and lag, and ends it', async () => {
    const followed = follow(token)
    await desk.show(page, 'streams')
    const row = await untilShown(page, '.list tbody tr', 'dashboards')
    expect(row).toContain('server-sent events')
    expect(row).toContain('symbol VOD; importance high, ultra')
    expect(row).toContain('has everything')
    expect(row).toContain('takes everything')
    await untilShown(page, 'main', 'no consumer groups')
    await pressButton(page, 'End the stream of dashboards')
    await untilShown(page, 'dialog', 'A browser opens it again')
    await pressButton(page, 'End the stream')
    expect(await followed).toBe('ended')
    await untilShown(page, 'main', 'No stream is open on this node.')
  })

  it('says what the deletion of a token ends, and ends it', async () => {
    const followed = follow(token)
    await desk.show(page, 'streams')
    await untilShown(page, '.list tbody tr', 'dashboards')
    await desk.show(page, 'tokens')
    await pressButton(page, 'Delete dashboards')
    await untilShown(page, 'dialog', 'Ends 1 open stream')
    await pressButton(page, 'Delete the token')
    await untilShown(page, 'main', 'There is no token yet')
    expect(await followed).toBe('ended')
    expect(await statusOf(token)).toBe(401)
  })

  it('shows hostile names as text', async () => {
    await page.evaluate('window.found = []; window.ran = (which) => found.push(which); 0')
    for (const name of NAMES) {
      const made = await fetch(`${desk.url}/v1/tokens`, {
        method: 'POST',
        headers: { ...bearer, 'content-type': 'application/json' },
        body: JSON.stringify({ tenant: 'desk', scopes: ['events:read'], name }),
      })
      expect(made.status, name).toBe(201)
    }
    await eventually(
      () => page.evaluate<number>("document.querySelectorAll('.list tbody tr').length"),
      (count) => count === NAMES.length,
    )
    expect(await page.evaluate('found')).toEqual([])
    expect(
      await page.evaluate(
        "document.querySelectorAll('main img, main iframe, main script, main [onload], main [onmouseover]').length",
      ),
    ).toBe(0)
    expect(await shownText(page, 'main')).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]/)
  })

  it.each(LOOKS)('has no fault of accessibility, at $width px, dark: $dark', async (look) => {
    await page.emulate(look)
    for (const screen of ['tokens', 'streams']) {
      await desk.show(page, screen)
      await untilShown(page, 'main', screen === 'tokens' ? 'Last used' : 'No stream is open')
      expect(await accessibilityFaults(page), screen).toEqual([])
      expect(await beyondWindow(page), screen).toEqual([])
    }
    expect(page.errors()).toEqual([])
  })

  it('says to a token without the rights what it cannot see', async () => {
    const made = await fetch(`${desk.url}/v1/tokens`, {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'application/json' },
      body: JSON.stringify({ tenant: 'desk', scopes: ['webhooks:read'] }),
    })
    const { token: weak } = (await made.json()) as { token: string }
    await using other = await openInChromium(`${desk.url}/console/tokens`)
    await fillField(other, 'Token', weak)
    await eventually(
      () => statusOf(weak),
      (status) => status === 200,
    )
    await pressButton(other, 'Sign in')
    await untilShown(other, 'main', 'has the scope admin')
    await other.open(`${desk.url}/console/streams`)
    await untilShown(other, 'main', 'with the scope events:read')
  })
})
