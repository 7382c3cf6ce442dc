/**
 * Compares the bridge's `/v2` with the upstream service that it has read: equal requests get equal responses, except
 * for the differences that the contract names.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type App, startApp } from '../../src/app/app.ts'
import { DAY_MS } from '../../src/core/durations.ts'
import { type Clock, systemChance, systemClock } from '../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { type ListBody, UNLIMITED } from '../sandbox/sandbox-client.ts'
import { ADMIN_TOKEN, bridgeEnv, temporaryDirectory } from '../support/bridge-process.ts'
import { until } from '../support/http/api-server.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import {
  FCA_CODES,
  ISINS,
  NATIVE_CODES,
  SYMBOLS,
  WORLD_DAYS,
  worldIsin,
  worldItems,
} from '../support/worlds/mirror-world.ts'

const ITEMS = '/disclosures/sources/rns/items'
/** The live service's parameter name in this world. */
const WORD = 'house'
/** Noon of the sandbox's first day: its market's clock is stopped there, so that nothing is published meanwhile. */
const NOW_MS = Date.UTC(2026, 1, 3, 12)

/** The differences that contract §6 allows, as the warnings that only the bridge gives. Cursors differ in their texts. */
const OWN_WARNINGS = [/^This copy begins at /, /^channel was ignored: /, /there is no such parameter/]

interface Reply {
  status: number
  text: string
  body: ListBody
}

interface Service {
  url: string
  key: string
}

const ask = async ({ url, key }: Service, path: string, init: RequestInit = {}): Promise<Reply> => {
  const response = await fetch(`${url}${path}`, { headers: { 'x-api-key': key }, ...init })
  const text = await response.text()
  // Items are compared as text: only the rest is parsed.
  const rest = text.startsWith('{"data":[') ? `{${text.slice(text.lastIndexOf('"meta":'))}` : text
  return { status: response.status, text, body: JSON.parse(rest) as ListBody }
}

/** A response without the allowed differences: the texts of cursors and the bridge's own warnings. Items stay as text. */
function comparable({ status, text, body }: Reply): object {
  if (body.meta === undefined) return { status, body }
  const paging = Object.entries(body.meta.paging).map(([name, value]) => [
    name,
    typeof value === 'string' ? 'a cursor' : value,
  ])
  const warnings = (body.warnings ?? []).filter((warning) => !OWN_WARNINGS.some((own) => own.test(warning)))
  return {
    status,
    data: text.slice(0, text.lastIndexOf('"meta":')),
    paging: Object.fromEntries(paging),
    warnings,
  }
}

const some = (members: readonly string[]) => fc.subarray([...members], { minLength: 1, maxLength: 3 })
const date = fc.constantFrom(
  ...['2025-12-20', '2026', '2026-01', '2026-01-20', '2026-01-28T09:30', '2026-02-01T00:00:00Z'],
)
const filters = {
  dateFrom: date,
  dateTo: date,
  isins: some([...ISINS, worldIsin(999)]),
  symbols: some([...SYMBOLS, 'aaa', 'FFL', 'ZZZ']),
  match: fc.constantFrom('issuer', 'related', 'exact'),
  fcaCategories: some([...FCA_CODES, 'fr']),
  [`${WORD}Categories`]: some(NATIVE_CODES),
  q: fc.constantFrom('final', 'ÜNÏ', '(s)', 'in', '–', '"quoted" \\', '%', 'zzz', ' '),
  hasSymbol: fc.boolean(),
}

/** Up to four filters, as the text of a query: few at once, so that many match something. */
const filtered = fc
  .tuple(fc.record(filters), fc.subarray(Object.keys(filters), { maxLength: 4 }), fc.boolean())
  .map(([all, names, singular]) => {
    const asked = new URLSearchParams()
    for (const name of names) {
      const value = all[name as keyof typeof all]
      if (!Array.isArray(value)) asked.append(name, String(value))
      else if (singular)
        for (const one of value) asked.append(name.replace(/ies$/, 'y').replace(/s$/, ''), one)
      else asked.append(name, value.join(','))
    }
    return asked.toString()
  })

/** Parameters that make a query wrong, unusual, or the cause of a warning. */
const odd = fc.constantFrom(
  ...['pageSize=0', 'pageSize=201', 'pageSize=ten', 'pageNumber=0', 'pageNumber=1&sinceCursor=x'],
  ...['pageCursor=x&pageNumber=1', 'sinceCursor=rubbish', 'pageCursor=rubbish', 'match=all', 'hasSymbol=yes'],
  ...[
    'dateFrom=2026-13',
    'dateTo=yesterday',
    'dateFrom=2026-02-30',
    'isins=',
    'isin=&isin=',
    'q=',
    'q=a&q=b',
  ],
  ...['symbols=AAA&symbol=BBB', 'pageSise=3', '%', 'isins=%ff', 'q=%zz', 'q=%00', 'nativeCategories=RE'],
  ...[`${WORD}Category=RE&${WORD}Categories=HO`, 'pageNumber=1000000000', 'dateFrom=2027&dateTo=2025'],
)
const pageSize = fc.constantFrom(23, 80, 200)
const question = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('walk' as const), query: filtered, pageSize }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pages' as const), query: filtered, pageSize }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('poll' as const), query: filtered, pageSize, from: fc.nat() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('odd' as const), query: filtered, odd }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('item' as const), which: fc.nat(), how: fc.nat({ max: 4 }) }),
  },
)
type Question = typeof question extends fc.Arbitrary<infer T> ? T : never

describe("the bridge's /v2 and the upstream service it read from", () => {
  const directory = temporaryDirectory()
  const stopping = new AbortController()
  let sandbox: Sandbox
  let app: App
  let running: Promise<void>
  let theirs: Service
  let ours: Service
  /** Identifiers of every item, and for some of them the cursor just after it at each service. */
  let identifiers: { guid: string; rnsDateId: string }[]
  let anchors: { their: string; our: string }[]

  beforeAll(async () => {
    sandbox = await startSandbox(
      { scenario: 'quiet', plan: 'enterprise', backlog: 0, nativeWord: WORD, ...UNLIMITED },
      { clock: createManualClock() },
    )
    const kind = `${WORD.charAt(0).toUpperCase()}${WORD.slice(1)}`
    const { first, amendments } = worldItems(NOW_MS, kind)
    sandbox.publish(first)
    sandbox.publish(amendments)
    const env = bridgeEnv(sandbox, directory.path, {
      BRIDGE_UPSTREAM_PLAN: 'enterprise',
      BRIDGE_UPSTREAM_RATE: '1000',
      BRIDGE_UPSTREAM_BURST: '1000',
      BRIDGE_UPSTREAM_NATIVE_WORD: WORD,
      BRIDGE_BACKFILL: `P${WORLD_DAYS}D`,
      BRIDGE_LOG_LEVEL: 'silent',
    })
    // The bridge's clock is wrong by months: "30 days before now" follows upstream's clock.
    const clock = clockFrom(NOW_MS + 100 * DAY_MS)
    app = await startApp(loadSettings(env, noFile), { clock, chance: systemChance })
    running = app.runUntil(stopping.signal)
    theirs = { url: sandbox.url, key: sandbox.key }
    ours = { url: `${app.ready.http}/v2`, key: ADMIN_TOKEN }
    const guids = new Set(first.map(({ guid }) => guid))
    await until(() => app.reader.latest >= guids.size)
    identifiers = first.map(({ guid, timestamp, rnsId }) => ({
      guid,
      rnsDateId: `${timestamp.slice(0, 10)}.${rnsId}`,
    }))
    anchors = await Promise.all([1, 2, 5, 20, 60, 120].map(anchorAt))
  })

  afterAll(async () => {
    stopping.abort()
    await running
    await sandbox.close()
    directory[Symbol.dispose]()
  })

  async function anchorAt(place: number): Promise<{ their: string; our: string }> {
    const path = `${ITEMS}?pageSize=1&pageNumber=${place}`
    const [their, our] = await agree(path)
    return { their: latestOf(their), our: latestOf(our) }
  }

  /** Sends one request to both, each with its own cursors, and compares the responses. */
  async function agree(
    theirPath: string,
    ourPath = theirPath,
    init: RequestInit = {},
  ): Promise<[Reply, Reply]> {
    const [their, our] = await Promise.all([ask(theirs, theirPath, init), ask(ours, ourPath, init)])
    expect({ path: ourPath, ...comparable(our) }).toEqual({ path: ourPath, ...comparable(their) })
    return [their, our]
  }

  async function put(asked: Question): Promise<void> {
    switch (asked.kind) {
      case 'walk':
        return walkBoth(`${ITEMS}?${asked.query}&pageSize=${asked.pageSize}`)
      case 'pages':
        return pageBoth(`${ITEMS}?${asked.query}&pageSize=${asked.pageSize}`)
      case 'poll':
        return pollBoth(`${ITEMS}?${asked.query}&pageSize=${asked.pageSize}`, asked.from)
      case 'odd':
        await agree(`${ITEMS}?${asked.query}&${asked.odd}`)
        return
      case 'item':
        await agree(`${ITEMS}/${identifierFor(asked.which, asked.how)}`)
    }
  }

  async function walkBoth(base: string): Promise<void> {
    let [their, our] = await agree(base)
    while (our.status === 200 && our.body.meta.paging.nextCursor !== null) {
      const next = ({ body }: Reply) => `${base}&pageCursor=${body.meta.paging.nextCursor}`
      ;[their, our] = await agree(next(their), next(our))
    }
  }

  async function pageBoth(base: string): Promise<void> {
    const [, first] = await agree(`${base}&pageNumber=1`)
    const last = Number(first.body.meta?.paging.pageTotal ?? 0)
    for (let page = 2; page <= last + 1; page++) await agree(`${base}&pageNumber=${page}`)
  }

  async function pollBoth(base: string, from: number): Promise<void> {
    const anchor = anchors[from % anchors.length]
    if (anchor === undefined) throw new Error('no anchor')
    let since = anchor
    for (const round of ['first', 'empty']) {
      const [their, our] = await agree(
        `${base}&sinceCursor=${since.their}`,
        `${base}&sinceCursor=${since.our}`,
      )
      if (our.status !== 200) return
      if (round === 'empty') expect(our.body.meta.paging).toMatchObject({ count: 0, latestCursor: since.our })
      since = { their: latestOf(their), our: latestOf(our) }
    }
  }

  function identifierFor(which: number, how: number): string {
    const { guid, rnsDateId } = identifiers[which % identifiers.length] ?? { guid: '', rnsDateId: '' }
    const forms = [encodeURIComponent(guid), encodeURI(guid).replaceAll(/[/]/g, '%2F'), rnsDateId]
    return forms[how] ?? (how === 3 ? `${guid.slice(0, 12)}-${which}` : '2026-01-01.9999Z')
  }

  it('agree on a thousand random requests: status, items byte for byte, pages, page scans, polls, errors', async () => {
    await fc.assert(fc.asyncProperty(question, put), { numRuns: 1000 })
  })

  it('agree on single items, by guid raw and percent-encoded and by rnsDateId', async () => {
    for (let which = 0; which < identifiers.length; which++) {
      await agree(`${ITEMS}/${identifierFor(which, which % 3)}`)
    }
  })

  it('agree on a watch-list of 400 ISINs, in one address', async () => {
    const isins = Array.from({ length: 400 }, (_, index) => worldIsin(index))
    for (const match of ['issuer', 'related', 'exact']) {
      const [, our] = await agree(
        `${ITEMS}?isins=${isins.join(',')}&match=${match}&pageSize=200&pageNumber=1`,
      )
      expect(our.status).toBe(200)
      expect(our.body.meta.paging.itemTotal).toBeGreaterThan(200)
    }
  })

  it('agree on paths, methods and keys', async () => {
    for (const path of [
      '',
      '/',
      '/items',
      `${ITEMS}/`,
      `${ITEMS}/a/b`,
      `${ITEMS}/%E0%A4%A`,
      '/disclosures',
    ]) {
      await agree(path)
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) await agree(ITEMS, ITEMS, { method })
    for (const key of [{}, { 'x-api-key': 'wrong-key-0123456789' }])
      await agree(ITEMS, ITEMS, { headers: key })
  })

  it("refuse each other's cursors, and page cursors under other filters", async () => {
    const [their, our] = await agree(`${ITEMS}?pageSize=5`)
    const swapped = (name: string, value: (reply: Reply) => unknown) =>
      agree(`${ITEMS}?${name}=${value(our)}`, `${ITEMS}?${name}=${value(their)}`)
    const nextOf = ({ body }: Reply) => body.meta.paging.nextCursor
    for (const [reply] of [await swapped('sinceCursor', latestOf), await swapped('pageCursor', nextOf)]) {
      expect(reply.status).toBe(400)
    }
    const other = `${ITEMS}?q=final&pageCursor=`
    const [refused] = await agree(`${other}${nextOf(their)}`, `${other}${nextOf(our)}`)
    expect(refused.status).toBe(400)
  })

  it('differ where documented: channel, unknown parameters, the beginning of the replica', async () => {
    const warned = async (query: string) => (await ask(ours, `${ITEMS}?${query}`)).body.warnings
    expect(await warned('dateFrom=2026-01-10')).toBeUndefined()
    expect(await warned('dateFrom=2026-01-10&channel=app')).toEqual([
      expect.stringMatching(OWN_WARNINGS[1] ?? ''),
    ])
    expect(await warned('dateFrom=2026-01-10&chanel=app')).toEqual([
      expect.stringMatching(OWN_WARNINGS[2] ?? ''),
    ])
    expect(await warned('dateFrom=2025')).toEqual([expect.stringMatching(OWN_WARNINGS[0] ?? '')])
    const plain = await ask(theirs, `${ITEMS}?dateFrom=2026-01-10&pageNumber=1`)
    const channel = await ask(theirs, `${ITEMS}?dateFrom=2026-01-10&pageNumber=1&channel=app`)
    const ignored = await ask(ours, `${ITEMS}?dateFrom=2026-01-10&pageNumber=1&channel=app`)
    expect(channel.body.meta.paging.itemTotal).toBeLessThan(Number(plain.body.meta.paging.itemTotal))
    expect(ignored.body.meta.paging.itemTotal).toBe(plain.body.meta.paging.itemTotal)
  })
})

function latestOf({ body }: Reply): string {
  return String(body.meta.paging.latestCursor)
}

/** The machine's clock, shifted so that it is `nowMs` at the call. */
function clockFrom(nowMs: number): Clock {
  const offsetMs = nowMs - systemClock.now()
  return { now: () => systemClock.now() + offsetMs, after: systemClock.after }
}

function noFile(path: string): never {
  throw Object.assign(new Error(`${path} is not read by this test`), { code: 'ENOENT' })
}
