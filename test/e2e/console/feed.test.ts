/** The live feed of the console in a real browser: it shows, filters, pauses, resumes, and outlives its bridge. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserPage, openInChromium } from '../../support/chromium.ts'
import { feedIds, newestFeedId } from '../../support/console/console-browser.ts'
import { type ConsoleDesk, startConsoleDesk } from '../../support/console/console-desk.ts'
import { watchFor } from '../../support/console/page-watch.ts'
import { eventually, pullAll } from '../../support/http/api-client.ts'
import { hasTool } from '../../support/tools.ts'
import { compare } from '../../support/worlds/completeness.ts'

/** The banner of the page, and the line above the feed's rows. */
const WHERE_SAID = ['.banner', '.feed-bar']

describe.skipIf(!hasTool('chromium', 'chromium'))('the live feed', () => {
  let desk: ConsoleDesk
  let page: BrowserPage

  beforeAll(async () => {
    desk = await startConsoleDesk({ scenario: 'morning-short', seed: 7 })
    page = await openInChromium(`${desk.url}/console/`)
    await desk.show(page, 'feed')
  })

  afterAll(async () => {
    await page?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })

  const shown = () => page.text()
  const rows = () =>
    page.evaluate<number>("Number(document.querySelector('.feed-table table')?.ariaRowCount ?? 1) - 1")
  const inPage = () => page.evaluate<number>("document.querySelectorAll('.feed-table tr').length")

  it('shows announcements as they arrive, and few of them are in the page', async () => {
    await eventually(rows, (count) => count > 150, 60_000)
    expect(await inPage()).toBeLessThan(100)
    await eventually(shown, (text) => text.includes('Live'))
  })

  it('says within three seconds that the bridge was killed, and goes on without a hole', async () => {
    const watch = await watchFor(page, WHERE_SAID, ['The bridge does not answer', 'Cut off'])
    await desk.kill()
    const killedMs = Date.now()
    expect(await watch.shownAfter(killedMs)).toBeLessThan(3000)
    await desk.restart()
    await eventually(shown, (text) => text.includes('Live') && !text.includes('does not answer'))
    const pulled = await eventually(
      () => pullAll(desk.url),
      (events) => desk.sandbox.finished() && compare(desk.sandbox.truth().items, events).missing.length === 0,
      90_000,
    )
    const wanted = pulled.filter(({ type }) => type.startsWith('disclosure.')).map(({ id }) => id)
    await eventually(
      () => newestFeedId(page),
      (id) => id === wanted.at(-1),
    )
    const found = await feedIds(page)
    // The page was opened with the last 200; all that came since is there, in order, across the kill.
    expect(found.length).toBeGreaterThan(450)
    expect(found).toEqual(wanted.toReversed().slice(0, found.length))
  }, 240_000)

  it('says within three seconds that the bridge is frozen, and goes on when it thaws', async () => {
    const { child } = desk.bridge()
    await eventually(shown, (text) => text.includes('Live') && !text.includes('does not answer'))
    const watch = await watchFor(page, WHERE_SAID, ['No answer.', 'does not answer in time'])
    const frozenMs = Date.now()
    child.kill('SIGSTOP')
    try {
      expect(await watch.shownAfter(frozenMs)).toBeLessThan(3000)
    } finally {
      child.kill('SIGCONT')
    }
    await eventually(shown, (text) => text.includes('Live') && !text.includes('answer'))
  })

  it('pauses by Space unmistakably, counts what waits, and shows it when it goes on', async () => {
    await eventually(shown, (text) => text.includes('Live') && !text.includes('Paused'))
    const before = await rows()
    await page.press(' ')
    await eventually(shown, (text) => /Paused at \d\d:\d\d:\d\d · nothing new yet/.test(text))
    await desk.publish([{ headline: 'Waited one' }, { headline: 'Waited two' }])
    await eventually(shown, (text) => text.includes('2 new'))
    expect(await rows()).toBe(before)
    await page.press(' ')
    await eventually(rows, (count) => count === before + 2)
    expect(await shown()).not.toContain('Paused')
  })

  it('pauses by scrolling, and goes on at the top', async () => {
    await page.evaluate("document.querySelector('.feed-table').scrollTop = 400")
    await eventually(shown, (text) => text.includes('because you scrolled'))
    await page.evaluate("document.querySelector('.feed-table').scrollTop = 0")
    await eventually(shown, (text) => !text.includes('Paused'))
    await page.evaluate("document.querySelector('.feed-table').scrollTop = 400")
    await eventually(shown, (text) => text.includes('because you scrolled'))
    await page.press(' ')
    await eventually(shown, (text) => !text.includes('Paused'))
    expect(await page.evaluate<number>("document.querySelector('.feed-table').scrollTop")).toBe(0)
  })

  it('pauses while text is selected', async () => {
    await page.evaluate("getSelection().selectAllChildren(document.querySelector('.c-issuer bdi'))")
    await eventually(shown, (text) => text.includes('because text is selected'))
    await page.evaluate('getSelection().removeAllRanges()')
    await eventually(shown, (text) => !text.includes('Paused'))
  })

  it('is walked by keys: rows are chosen, marked, and the important ones found', async () => {
    const chosen = () =>
      page.evaluate<string | null>("document.querySelector('tr[aria-current]')?.innerText ?? null")
    await page.press('j')
    const first = await eventually(chosen, (row) => row !== null)
    await page.press('j')
    await eventually(chosen, (row) => row !== null && row !== first)
    await page.press('k')
    await eventually(chosen, (row) => row === first)
    // It stops at gaps too, which the kill before may have left.
    const next = () => page.press('n').then(chosen)
    await eventually(next, (row) => /high|ultra/.test(row ?? ''))
    await page.press('m')
    await eventually(chosen, (row) => row?.includes('marked') === true)
    await page.press('Escape')
    await eventually(chosen, (row) => row === null)
    await page.press(' ')
    await page.press(' ')
  })

  it('obeys each of several keys that come before a repaint', async () => {
    const firstRows = () =>
      page.evaluate<{ isChosen: boolean; isMarked: boolean }[]>(
        `[...document.querySelectorAll('.feed-table tr')]
          .filter((row) => row.querySelector('td') !== null)
          .slice(0, 4)
          .map((row) => ({ isChosen: row.ariaCurrent !== null, isMarked: row.innerText.includes('marked') }))`,
      )
    const type = (keys: string) =>
      page.evaluate(
        `for (const key of ${JSON.stringify([...keys])})
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))`,
      )
    await page.evaluate("document.querySelector('.feed-table').scrollTop = 0")
    await eventually(shown, (text) => !text.includes('Paused'))
    const before = (await firstRows()).map(({ isMarked }) => isMarked)
    const differs = (rows: { isMarked: boolean }[]) =>
      rows.map(({ isMarked }, index) => isMarked !== before[index])
    await type('jjjmkm')
    const rows = await eventually(firstRows, ([, second]) => second?.isChosen === true)
    expect(differs(rows)).toEqual([false, true, true, false])
    await type('mjm')
    const after = await eventually(firstRows, ([, , third]) => third?.isChosen === true)
    expect(differs(after)).toEqual([false, false, false, false])
    await page.press('Escape')
    await eventually(firstRows, (all) => all.every(({ isChosen }) => !isChosen))
  })

  it('has the focus on the row that keys have chosen, and in the list when that row is far down', async () => {
    const focus = () => page.evaluate<string>("document.activeElement?.closest('tr')?.innerText ?? ''")
    const chosen = () => page.evaluate<string>("document.querySelector('tr[aria-current]')?.innerText ?? ''")
    if ((await shown()).includes('Paused')) await page.press(' ')
    await eventually(shown, (text) => text.includes('Live') && !text.includes('Paused'))
    await page.press('j')
    const first = await eventually(focus, (row) => row !== '')
    expect(await chosen()).toBe(first)
    // Far beyond what is in the page.
    for (let step = 0; step < 60; step++) await page.press('j')
    const far = await eventually(focus, (row) => row !== '' && row !== first)
    expect(await chosen()).toBe(far)
    await page.press(' ')
    await eventually(shown, (text) => !text.includes('Paused'))
    const isInList = () => page.evaluate<boolean>("document.activeElement?.matches('.table-window') === true")
    await eventually(isInList, Boolean)
    await page.press('Escape')
  })

  it('plays its tones by one connection to the loudspeaker', async () => {
    await eventually(shown, (text) => text.includes('Live'))
    // A page that nobody has used yet may not be heard.
    await page.click('.feed-tools')
    await page.evaluate(`(() => {
      globalThis.made = 0
      globalThis.tones = 0
      globalThis.AudioContext = class extends AudioContext {
        constructor() {
          super()
          made += 1
        }
      }
      const { start } = OscillatorNode.prototype
      OscillatorNode.prototype.start = function (...when) {
        tones += 1
        return start.apply(this, when)
      }
    })()`)
    const choose = (level: string) =>
      page.evaluate(`(() => {
        const choice = document.querySelector('.alert-choice select')
        choice.value = '${level}'
        choice.dispatchEvent(new Event('change', { bubbles: true }))
      })()`)
    await choose('low')
    const important = [{ kind: 'FCA', code: 'FR', name: 'Final Results', importance: 'high' }]
    const tones = () => page.evaluate<number>('tones')
    // The choice plays a sample; those of rows are at least 1.5 s apart.
    for (const wanted of [1, 2, 3]) {
      await eventually(tones, (played) => played >= wanted, 10_000)
      await eventually(
        async () => {
          await desk.publish([{ headline: 'Loud', category: important }])
          await new Promise((resolve) => setTimeout(resolve, 500))
          return await tones()
        },
        (played) => played > wanted,
      )
    }
    // One of the sample, one of the rows.
    expect(await page.evaluate<number>('made')).toBeLessThanOrEqual(2)
    await choose('off')
  })

  it('builds a filter while saying what it would have matched, and keeps it in the address', async () => {
    await page.press('/')
    await page.click('input[placeholder="code or name"]')
    await page.type('NAV')
    await eventually(
      () => page.evaluate<number>("document.querySelectorAll('[role=option]').length"),
      (n) => n > 0,
    )
    await page.press('ArrowDown')
    await page.press('Enter')
    const trial = await eventually(shown, (text) =>
      /Of the last [\d,]+ this would have matched [\d,]+/.test(text),
    )
    expect(trial).toContain('npx --no-install bridge tail --filter \'{"fcaCategories":["NAV"]}\'')
    await page.evaluate("document.querySelector('.filter-builder').requestSubmit()")
    await eventually(
      () => page.evaluate<string>('location.search'),
      (search) => search.includes('NAV'),
    )
    const categories = () =>
      page.evaluate<string[]>(
        "[...document.querySelectorAll('.feed-table tbody:not(.spacer) tr:not(.gap) .c-categories')].map((cell) => cell.innerText)",
      )
    const left = await eventually(categories, (cells) => cells.length > 5)
    expect(left.every((cell) => /\bNAV\b/.test(cell))).toBe(true)
    await page.open(await page.evaluate<string>('location.href'))
    await eventually(shown, (text) => text.includes('category NAV'))
    await page.evaluate(
      "[...document.querySelectorAll('button')].find((one) => one.textContent === 'Show everything').click()",
    )
    await eventually(
      () => page.evaluate<string>('location.search'),
      (search) => search === '',
    )
  })

  it('asks for nothing while the page is hidden, and shows what it missed afterwards', async () => {
    await eventually(shown, (text) => text.includes('Live'))
    await page.hide(true)
    await eventually(
      () => page.evaluate<string>('document.visibilityState'),
      (state) => state === 'hidden',
    )
    const asked = () => page.evaluate<number>("performance.getEntriesByType('resource').length")
    // What was under way ends.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const before = await asked()
    await desk.publish([{ headline: 'Came unseen' }])
    await new Promise((resolve) => setTimeout(resolve, 5000))
    expect(await asked()).toBe(before)
    await page.hide(false)
    await eventually(shown, (text) => text.includes('Came unseen'))
    expect(page.errors()).toEqual([])
  })
})
