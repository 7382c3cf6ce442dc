/** Signing in to the console: by link, by token, and out again. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ADMIN_TOKEN } from '../../support/bridge-process.ts'
import { type BrowserPage, openInChromium } from '../../support/chromium.ts'
import { type ConsoleDesk, startConsoleDesk } from '../../support/console/console-desk.ts'
import { eventually } from '../../support/http/api-client.ts'
import { hasTool } from '../../support/tools.ts'

/** A site that serves this page. */
async function startSite(html: string) {
  const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end(html))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

describe.skipIf(!hasTool('chromium', 'chromium'))('signing in to the console', () => {
  let desk: ConsoleDesk
  let page: BrowserPage

  beforeAll(async () => {
    desk = await startConsoleDesk()
    page = await openInChromium(`${desk.url}/console/feed?filter=%7B%22preset%22%3A%22results%22%7D`)
  })

  afterAll(async () => {
    await page?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })

  const heading = () => page.evaluate<string>("document.querySelector('h1')?.textContent ?? ''")
  const text = () => page.text()
  const answer = (words: string): string =>
    `[...document.querySelectorAll('main button')].find((one) => one.textContent === '${words}').click()`

  it('asks for a token first, and says plainly that a wrong one is wrong', async () => {
    await eventually(heading, (found) => found === 'disclosure-bridge')
    await page.click('input[type=password]')
    await page.type('a-token-that-nobody-made')
    await page.press('Enter')
    await eventually(text, (shown) => shown.includes('The bridge does not know this token'))
  })

  it('takes a token by keyboard alone, shows the screen of the address, and keeps the token nowhere', async () => {
    await page.type(ADMIN_TOKEN)
    await page.press('Enter')
    await eventually(heading, (found) => found === 'Live feed')
    expect(await page.evaluate('location.search')).toContain('results')
    const kept = await page.evaluate<string>(
      'document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage }) + location.href + document.documentElement.outerHTML',
    )
    expect(kept).not.toContain(ADMIN_TOKEN)
  })

  it('signs out, and a page opened then asks for a token', async () => {
    await page.click('.menu summary')
    await page.evaluate(
      "[...document.querySelectorAll('.menu button')].find((one) => one.textContent === 'Sign out').click()",
    )
    await eventually(heading, (found) => found === 'disclosure-bridge')
    await page.open(`${desk.url}/console/status`)
    await eventually(heading, (found) => found === 'disclosure-bridge')
  })

  it('signs in by a link once, and takes its code out of address and history', async () => {
    const link = await desk.link()
    await page.open(link)
    await eventually(text, (shown) => shown.includes('Is it working?'))
    expect(await page.evaluate('location.href')).toBe(`${desk.url}/console/`)
    await using other = await openInChromium(link)
    await eventually(
      () => other.text(),
      (shown) => shown.includes('This link has been used; make another'),
    )
    expect(await other.evaluate('location.hash')).toBe('')
  })

  it('asks before a link replaces the session that the browser has', async () => {
    await page.open(`${desk.url}/console/status`)
    await page.open(await desk.link())
    await eventually(text, (shown) => shown.includes('Sign in with this link?'))
    await page.evaluate(answer('Do not use the link'))
    await eventually(text, (shown) => shown.includes('Is it working?'))
  })

  it('asks before it uses a link that another site has opened', async () => {
    const link = await desk.link()
    await using site = await startSite(`<script>location.href = ${JSON.stringify(link)}</script>`)
    await using lured = await openInChromium(site.url)
    const shown = () => lured.text()
    await eventually(shown, (words) => words.includes('Sign in with this link?'))
    expect(await lured.evaluate("fetch('/v1/me').then(({ status }) => status)")).toBe(401)
    await lured.evaluate(answer('Do not use the link'))
    await eventually(shown, (words) => words.includes('Where to find a token'))
    await lured.open(site.url)
    await eventually(shown, (words) => words.includes('Sign in with this link?'))
    await lured.evaluate(answer('Sign in'))
    await eventually(shown, (words) => words.includes('Is it working?'))
  })

  it('unlocks changes by the token only, and a wrong one does not end the session', async () => {
    await page.click('.menu summary')
    const unlock =
      "[...document.querySelectorAll('.menu button')].find((one) => one.textContent === 'Unlock changes').click()"
    await page.evaluate(unlock)
    await page.click('dialog input')
    await page.type('wrong-token-0123456789')
    await page.press('Enter')
    await eventually(text, (shown) => shown.includes('This is not the token of the session.'))
    await page.type(ADMIN_TOKEN)
    await page.press('Enter')
    await eventually(text, (shown) => /Changes unlocked for 1[45] min/.test(shown))
    expect(page.errors()).toEqual([])
  })
})
