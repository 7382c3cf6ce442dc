/**
 * Tests the screens of an item, a day and the quota in a real browser against a whole bridge: one item from the upstream to the
 * attempts of its webhooks, a day with a gap, the quota, and what a token may not see.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  ADMIN_TOKEN,
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { type BrowserPage, openInChromium } from '../../support/chromium.ts'
import {
  accessibilityFaults,
  beyondWindow,
  openSignedIn,
  shownText,
  untilShown,
} from '../../support/console/console-browser.ts'
import { giveToken, pressButton } from '../../support/console/console-forms.ts'
import { bearer, eventually, getJson, pullAll } from '../../support/http/api-client.ts'
import { hasTool } from '../../support/tools.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import {
  type Received,
  startReceiver,
  type WebhookReceiver,
} from '../../support/webhooks/webhook-receiver.ts'

/** A page of the plan lite has 50. */
const MORE_THAN_TWO_PAGES = 120
const GUID = 'urn:newsml:example:story:1'
const HOSTILE = '<img src=x onerror="window.stolen=1"> Results \u202eevil'
const LOOKS = [320, 1440].flatMap((width) => [false, true].map((dark) => ({ width, dark })))

describe.skipIf(!hasTool('chromium', 'chromium'))('the screens of items, days and the quota', () => {
  const directory = temporaryDirectory()
  let sandbox: Sandbox
  let bridge: BridgeProcess
  let secret = ''
  let well: WebhookReceiver
  let failing: WebhookReceiver
  let page: BrowserPage

  const publish = (guid: string, headline: string, members: object = {}): unknown =>
    sandbox.publish([
      {
        guid,
        timestamp: new Date(sandbox.marketNow()).toISOString(),
        headline,
        issuer: { name: 'Alpha <b>PLC</b>', instrument: { isin: 'GB00BH4HKS39' } },
        ...members,
      },
    ])
  const hasEvents = (ids: readonly string[]): Promise<unknown> =>
    eventually(
      () => pullAll(bridge.ready.http),
      (events) => ids.every((id) => events.some((event) => event.id === id)),
    )

  beforeAll(async () => {
    well = await startReceiver()
    failing = await startReceiver((response) => response.writeHead(503).end('<script>stolen = 1</script>'))
    const options = { scenario: 'quiet', plan: 'lite', weeklyQuota: 1_000_000, seed: 5 } as const
    sandbox = await startSandbox(options, { clock: systemClock })
    const settings = { BRIDGE_UPSTREAM_PLAN: 'lite', BRIDGE_LOG_LEVEL: 'error', ...LOCAL_RECEIVERS }
    bridge = await startBridge(bridgeEnv(sandbox, directory.path, settings))
    const create = (url: string, description: string, filter: object = {}) =>
      askEndpoints(bridge.ready.http, 'POST', '', { url, description, filter })
    secret = (await create(well.url, 'the good one')).secret
    await create(failing.url, 'the failing one')
    await create(well.url, 'the picky one', { symbols: ['NONE'] })
    await eventually(sandbox.usage, ({ units }) => units > 1)
    const publication = [
      { url: 'https://documents.example/results.pdf', mime: 'application/pdf' },
      { url: 'javascript:window.stolen=1', mime: 'text/html' },
    ]
    publish(GUID, HOSTILE, { publication })
    await hasEvents([GUID])
    publish(GUID, 'Results, corrected', { publication })
    await hasEvents([`${GUID}#2`])
    // As in gap.test.ts: a fill that gets one page twice opens a gap, and a later one closes it.
    sandbox.faults.add({ kind: 'repeat-page', path: 'pageCursor=', count: 1 })
    const timestamp = new Date(sandbox.marketNow()).toISOString()
    sandbox.publish(
      Array.from({ length: MORE_THAN_TWO_PAGES }, (_, n) => ({
        guid: `urn:newsml:example:gap:${n}`,
        timestamp,
        headline: `Item ${n}`,
        issuer: { name: 'Alpha' },
      })),
    )
    page = await openInChromium(`${bridge.ready.http}/console/`)
  }, 120_000)

  afterAll(async () => {
    await page?.[Symbol.asyncDispose]()
    await bridge?.stop('SIGKILL')
    await sandbox?.close()
    await well?.[Symbol.asyncDispose]()
    await failing?.[Symbol.asyncDispose]()
    directory[Symbol.dispose]()
  })

  it('an item is followed from the feed to each attempt of its webhooks, and why one did not get it', async () => {
    // With a filter: later items have pushed it out of the visible rows.
    const filter = encodeURIComponent(JSON.stringify({ isins: ['GB00BH4HKS39'] }))
    await openSignedIn(page, `/console/feed?filter=${filter}`, ADMIN_TOKEN)
    await untilShown(page, 'main', 'Results')
    await page.evaluate(
      `document.querySelector('a[href="/console/item/${encodeURIComponent(GUID)}"]').focus()`,
    )
    await page.press('Enter')
    const journey = await untilShown(page, '.journey', 'not for it')
    for (const station of [
      'Published upstream',
      'Found by a poll',
      'Committed',
      'Topics',
      'Webhooks',
      'Streams',
    ])
      expect(journey).toContain(station)
    expect(journey).toMatch(/Committed\s+\+\d+ ms/)
    expect(journey).toContain('disclosures.all')
    expect(journey).toMatch(/delivered the good one\s+After 1 attempt; the last answer was 204/)
    expect(journey).toMatch(/waits the failing one\s+\d+ attempts? so far; the last answer was 503/)
    expect(journey).toMatch(/not for it the picky one\s+Its filter leaves the event out, by symbols/)
    await untilShown(page, '.journey', /The request of .* brought \d+ new items?/)
    await untilShown(page, '[aria-labelledby=journey]', /(Not late:|Late because|Late:) /)
    await page.click('.endpoints summary')
    expect(await untilShown(page, '.endpoints table', '204')).toContain('accepted')
  })

  it('an item is sent again to an endpoint that matched, with the webhook-id that it had', async () => {
    await openSignedIn(page, `/console/item/${encodeURIComponent(GUID)}`, ADMIN_TOKEN)
    await untilShown(page, '.endpoints', 'the picky one')
    const buttons = "[...document.querySelectorAll('.endpoints button')].map((one) => one.ariaLabel)"
    expect(await page.evaluate(buttons)).toEqual(['Resend to the good one', 'Resend to the failing one'])
    const isThis = ({ body }: Received): boolean => (JSON.parse(body) as { id: string }).id === GUID
    const ids = (): unknown[] => well.received.filter(isThis).map(({ headers }) => headers['webhook-id'])
    const [first] = ids()
    expect(ids()).toEqual([first])
    await pressButton(page, 'Resend to the good one')
    await giveToken(page)
    await untilShown(page, '.endpoints [role=status]', 'It is sent again now.')
    await eventually(ids, (found) => found.length === 2)
    expect(ids()).toEqual([first, first])
  })

  it('the module that it shows to receivers takes what was signed, and nothing else', async () => {
    const closed = "document.querySelector('.station > details:not([open]) > summary')"
    await page.evaluate(`${closed}.click()`)
    const module = await untilShown(page, '.station > details pre', 'standardwebhooks')
    const [received] = well.received.slice(-1)
    if (received === undefined) throw new Error('the receiver has got nothing')
    const { headers } = received
    const verify = async (body: string): Promise<string> => {
      const program = `${module}
        console.log(eventOf(${JSON.stringify(headers)}, ${JSON.stringify(body)}).id)`
      const options = { env: { ...process.env, WEBHOOK_SECRET: secret } }
      return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], options))
        .stdout
    }
    expect((await verify(received.body)).trim()).toBe((JSON.parse(received.body) as { id: string }).id)
    await expect(verify(received.body.replace('{', '{ '))).rejects.toThrow('No matching signature found')
  })

  it('text of strangers stays text, and only addresses of the web become links', async () => {
    await openSignedIn(page, `/console/item/${encodeURIComponent(GUID)}`, ADMIN_TOKEN)
    const name = await untilShown(page, 'h1', 'Results')
    expect(name).toBe('<img src=x onerror="window.stolen=1"> Results ⟨U+202E⟩evil')
    const links = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.item a')].map((link) => link.href)",
    )
    expect(links).toContain('https://documents.example/results.pdf')
    expect(links.filter((href) => !/^https?:/.test(href))).toEqual([])
    expect(await page.evaluate('typeof stolen')).toBe('undefined')
  })

  it('revisions are compared, and the JSON is byte for byte what streams send', async () => {
    await openSignedIn(page, `/console/item/${encodeURIComponent(`${GUID}#2`)}`, ADMIN_TOKEN)
    const changes = await untilShown(page, '.differences', 'headline')
    expect(changes).toContain('Results, corrected')
    expect(changes).toContain('⟨U+202E⟩evil')
    await page.click('.stored summary')
    const shown = await untilShown(page, '.stored pre', '"specversion"')
    const pulled = await fetch(`${bridge.ready.http}/v1/disclosures?tail=1000`, { headers: bearer })
    expect(await pulled.text()).toContain(shown)
  })

  it('a day shows its gap, what became of it, and whether anything is missing', async () => {
    const status = () => getJson<{ gaps: unknown[] }>(`${bridge.ready.http}/v1/status`)
    await eventually(status, ({ gaps }) => gaps.length === 0, 60_000)
    await openSignedIn(page, '/console/day', ADMIN_TOKEN)
    const gaps = await untilShown(page, '[aria-labelledby=day-gaps]', 'filled')
    expect(gaps).toContain('One gap')
    expect(gaps).toContain('more arrived at once than a poll returns')
    expect(await page.evaluate("document.querySelectorAll('.chart-spans[d]').length")).toBeGreaterThan(0)
    await untilShown(page, '[role=status]', 'No gap is open.')
    const today = await page.evaluate<string>(
      "document.querySelector('.calendar [aria-current=date]').ariaLabel",
    )
    expect(today).toMatch(/not finished/)
  })

  it('today is that of the upstream also before the leader has written its first report', async () => {
    await openSignedIn(page, '/console/status', ADMIN_TOKEN)
    await untilShown(page, '[aria-label=Upstream]', 'answers')
    await page.evaluate(`(() => {
      const real = window.fetch
      window.fetch = async (url, options) =>
        String(url).startsWith('/v1/report') ? new Response('{"data":[]}') : real(url, options)
    })()`)
    await page.click('.bar a[href="/console/day"]')
    await untilShown(page, 'main', 'The bridge has no report on')
    const date = new Date(sandbox.marketNow())
    const words = new Intl.DateTimeFormat('en-GB', {
      day: 'numeric',
      month: 'long',
      year: 'numeric',
      timeZone: 'Europe/London',
    })
    expect(await shownText(page, 'h1')).toContain(words.format(date))
  })

  it('a day without a report is marked in the calendar, whose first day names its month', async () => {
    await openSignedIn(page, '/console/day', ADMIN_TOKEN)
    await page.click('a[rel=prev]')
    await untilShown(page, 'main', 'The bridge has no report on')
    const dayOfMonth = await page.evaluate<string>("location.pathname.slice(-2).replace(/^0/, '')")
    const marked =
      "[...document.querySelectorAll('.calendar [aria-current=date]')].map((one) => one.innerText)"
    expect(await page.evaluate<string[]>(marked)).toEqual([expect.stringMatching(`^${dayOfMonth}\\b`)])
    expect(await shownText(page, '.calendar td')).toMatch(/^\d+ [A-Z][a-z]+$/)
  })

  it('a chart is read by keys alone, and has its figures as a table', async () => {
    await openSignedIn(page, '/console/day', ADMIN_TOKEN)
    await untilShown(page, '.chart', 'published')
    const reading = () => page.evaluate<string>("document.querySelector('.chart-picture').ariaValueText")
    await page.evaluate("document.querySelector('.chart-picture').focus()")
    expect(await reading()).toMatch(/contents of announcements/)
    await page.press('Home')
    await eventually(reading, (text) => text.startsWith('00:00–00:05: '))
    await page.press('ArrowRight')
    await eventually(reading, (text) => text.startsWith('00:05–00:10: '))
    expect(await shownText(page, '.chart-reading')).toBe(await reading())
    await page.press('Escape')
    await eventually(reading, (text) => /contents of announcements/.test(text))
    await page.press('Tab')
    await page.press('Enter')
    const table = await untilShown(page, '.chart-table table', 'published')
    expect(table).toMatch(/\b12\d\b/)
  })

  it('a chart is read by pointer, and tells its layers apart in forced colours', async () => {
    await openSignedIn(page, '/console/day', ADMIN_TOKEN)
    await untilShown(page, '[aria-labelledby=day-gaps]', 'filled')
    await page.point('.chart-picture')
    await eventually(
      () => shownText(page, '.chart-reading'),
      (text) => /^1[12]:\d\d–\d\d:\d\d: /.test(text),
    )
    await page.emulate({ forcedColors: true })
    const looks = await page.evaluate<
      string[]
    >(`['.chart-bars', '.chart-hatch', '.chart-ticks'].map((name) => {
      const { fill, stroke } = getComputedStyle(document.querySelector('.chart ' + name))
      return name === '.chart-bars' ? fill : stroke
    })`)
    await page.emulate({ forcedColors: false })
    // One colour for all: bars are filled, gaps hatched, polls ticks.
    expect(new Set(looks).size).toBe(1)
  })

  it('the quota says what is spent, planned and left, and compares the plans when asked', async () => {
    await openSignedIn(page, '/console/quota', ADMIN_TOKEN)
    expect(await untilShown(page, '[aria-labelledby=week]', 'left')).toMatch(
      /units of 1,000,000 spent in the last seven days/,
    )
    // A few units of a million: a bar shows the share of the quota, as its column says.
    const drawn =
      "[...document.querySelectorAll('.purposes .chart-bars')].map((bar) => bar.getBoundingClientRect().width)"
    expect(Math.max(...(await page.evaluate<number[]>(drawn)))).toBeLessThan(5)
    expect(await untilShown(page, '[aria-labelledby=quota-day]', 'expected on this day')).toContain(
      'polls planned',
    )
    await page.evaluate("document.querySelector('[aria-labelledby=plans] button').focus()")
    await page.press('Enter')
    const plans = await eventually(
      () => shownText(page, '[aria-labelledby=plans]'),
      (text) => text.includes('On lite, as now, an item waits'),
      90_000,
    )
    expect(plans).toMatch(/On enterprise it would be [\d.]+ s instead of/)
  })

  it('who may read events only sees the rest of each screen, and is told what it may not see', async () => {
    const made = await fetch(`${bridge.ready.http}/v1/tokens`, {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'application/json' },
      body: JSON.stringify({ tenant: 'default', name: 'reader', scopes: ['events:read'] }),
    })
    const { token } = (await made.json()) as { token: string }
    await openSignedIn(page, '/console/quota', token)
    await untilShown(page, 'main', 'is shown to tokens with the scope admin')
    await page.open(`${bridge.ready.http}/console/day`)
    await untilShown(page, 'main', 'Polls and re-scans are shown to sessions with the scope admin')
    expect(await untilShown(page, '.chart', 'published')).not.toContain('polls')
    await page.open(`${bridge.ready.http}/console/item/${encodeURIComponent(GUID)}`)
    await untilShown(page, '.journey', 'shown to sessions with the scope webhooks:read')
  })

  it('axe-core finds nothing on any of them, and none is wider than its window', async () => {
    for (const path of [`item/${encodeURIComponent(`${GUID}#2`)}`, 'day', 'quota']) {
      await openSignedIn(page, `/console/${path}`, ADMIN_TOKEN)
      await untilShown(page, 'main', /Journey|Calendar|Other plans/)
      await page.evaluate(
        "for (const closed of document.querySelectorAll('main details')) closed.open = true",
      )
      for (const look of LOOKS) {
        await page.emulate(look)
        expect(await accessibilityFaults(page), `${path} ${JSON.stringify(look)}`).toEqual([])
        expect(await beyondWindow(page), `${path} ${JSON.stringify(look)}`).toEqual([])
      }
    }
    await page.emulate({ width: 1440, dark: false })
    expect(page.errors()).toEqual([])
  }, 180_000)
})
