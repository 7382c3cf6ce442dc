import { describe, expect, test } from 'vitest'
import { contentHash } from '../../src/core/disclosure.ts'
import { announcementText } from '../../src/sandbox/documents/announcement.ts'
import { pdf } from '../../src/sandbox/documents/pdf.ts'
import { openSandbox, type TestSandbox } from './sandbox-client.ts'

interface WithDocuments {
  guid: string
  headline: string
  publication: { mime: string; url: string }[]
  derivatives: { semanticHtml: { url: string } }
}

async function items(opened: TestSandbox): Promise<WithDocuments[]> {
  return (await opened.list()).body.data as unknown as WithDocuments[]
}

function urls(item: WithDocuments): string[] {
  return [...item.publication.map(({ url }) => url), item.derivatives.semanticHtml.url]
}

/** Status and type of each document of an item. */
async function answers(item: WithDocuments): Promise<string[]> {
  const responses = await Promise.all(urls(item).map((url) => fetch(url)))
  return responses.map(({ status, headers }) => `${status} ${headers.get('content-type')}`)
}

/** What a reader sees of HTML. */
function textOf(html: string): string {
  const body = html.replace(/<head>.*<\/head>/, '').replace(/<[^>]*>/g, ' ')
  return body.replace(/\s+/g, ' ').trim()
}

describe('the documents of an item', () => {
  test('are served at the URLs in the item, on the same port, without a key or a unit', async () => {
    const opened = await openSandbox()
    const [first] = await items(opened)
    if (first === undefined) throw new Error('there is no item')
    const { units } = opened.sandbox.usage()
    for (const url of urls(first)) expect(new URL(url).origin).toBe(new URL(opened.sandbox.url).origin)
    expect(await answers(first)).toEqual([
      '200 text/html; charset=utf-8',
      '200 application/pdf',
      '200 text/html; charset=utf-8',
    ])
    expect(opened.sandbox.usage()).toMatchObject({ units, requests: 1 })
  })

  test('are all served, whatever member is missing in their item', async () => {
    const opened = await openSandbox({ scenario: 'missing-fields', backlog: 5 })
    opened.clock.advance(60_000)
    for (const item of await items(opened))
      expect((await answers(item)).map((answer) => answer.slice(0, 3))).toEqual(['200', '200', '200'])
  })

  test('include semantic HTML: the text of the page in structural elements only, without attributes', async () => {
    const opened = await openSandbox()
    for (const item of (await items(opened)).slice(0, 5)) {
      const page = await (await fetch(item.publication[0]?.url ?? '')).text()
      const semantic = await (await fetch(item.derivatives.semanticHtml.url)).text()
      expect(textOf(semantic)).toBe(textOf(page))
      expect(textOf(semantic)).toContain(item.guid)
      const elements = new Set([...semantic.matchAll(/<\/?([^>]*)>/g)].map(([, element]) => element))
      expect(elements).toEqual(new Set(['article', 'h1', 'table', 'tr', 'th', 'td', 'h2', 'p']))
      expect(semantic.length).toBeLessThan(page.length)
    }
  })

  test('include a valid PDF: its table points to each object, lengths match, and the headline is in it', async () => {
    const opened = await openSandbox()
    const [first] = await items(opened)
    const bytes = await (await fetch(first?.publication[1]?.url ?? '')).arrayBuffer()
    const text = Buffer.from(bytes).toString('latin1')
    expectWhole(text)
    for (const word of (first?.headline ?? '').split(/[^A-Za-z]+/)) expect(text).toContain(word)
  })

  test('are the same on every request, and in every sandbox of that seed and address', async () => {
    const documentsUrl = 'http://documents.example/d'
    const [one, two] = [await openSandbox({ documentsUrl }), await openSandbox({ documentsUrl })]
    expect(JSON.stringify(one.sandbox.truth())).toBe(JSON.stringify(two.sandbox.truth()))
    const path = urls((await items(one))[0] as WithDocuments)[0]?.replace(documentsUrl, '/documents')
    const read = async ({ sandbox }: TestSandbox) => (await fetch(new URL(path ?? '', sandbox.url))).text()
    const once = await read(one)
    expect(once).toMatch(/^<!doctype html>/)
    expect([await read(one), await read(two)]).toEqual([once, once])
  })

  test('are part of the content hash in the sandbox’s own record', async () => {
    const opened = await openSandbox()
    const hashes = new Map(opened.sandbox.truth().backlog.map((item) => [item.guid, item.contentHash]))
    for (const item of await items(opened)) expect(contentHash(item)).toBe(hashes.get(item.guid))
  })
})

describe('document URLs that do not exist', () => {
  test.each([
    ['another name', (url: string) => url.replace(/[^/]+$/, 'other.html')],
    ['another form', (url: string) => url.replace(/html$/, 'txt')],
    ['another number', (url: string) => url.replace(/\/\d{4}[A-Z]\//, '/0000Z/')],
    ['the folder', (url: string) => url.replace(/[^/]+$/, '')],
    ['a path that cannot be decoded', (url: string) => url.replace(/[^/]+$/, '%E0%A4%A')],
  ])('%s returns 404', async (_, changed) => {
    const [first] = await items(await openSandbox())
    const response = await fetch(changed(first?.publication[0]?.url ?? ''))
    expect([response.status, await response.text()]).toEqual([404, 'no such document\n'])
  })

  test('any method except GET and HEAD returns 405', async () => {
    const [first] = await items(await openSandbox())
    const url = first?.publication[0]?.url ?? ''
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200)
    expect((await fetch(url, { method: 'POST' })).status).toBe(405)
  })

  test('documents of an item that was removed from the listings return 404', async () => {
    const opened = await openSandbox({ scenario: 'vanish', backlog: 0 })
    opened.clock.advance(10_000)
    const replaced = (await items(opened)).at(-1) as WithDocuments
    expect((await answers(replaced))[0]).toMatch(/^200/)
    opened.clock.advance(60_000)
    expect((await answers(replaced))[0]).toMatch(/^404/)
  })
})

test('late-documents: 404 for three minutes after an item became visible', async () => {
  const opened = await openSandbox({ scenario: 'late-documents', backlog: 0 })
  opened.clock.advance(2_000)
  const [first] = await items(opened)
  if (first === undefined) throw new Error('there is no item')
  expect((await answers(first)).map((answer) => answer.slice(0, 3))).toEqual(['404', '404', '404'])
  opened.clock.advance(179_999)
  expect((await answers(first))[0]).toMatch(/^404/)
  opened.clock.advance(1)
  expect((await answers(first)).map((answer) => answer.slice(0, 3))).toEqual(['200', '200', '200'])
})

test('a document with any text is a complete file', () => {
  const headline = 'Brackets (and \\ slashes) \u20ac \u{1f600} £5m '.repeat(200)
  const raw = JSON.stringify({ guid: 'g', timestamp: '2026-02-03T10:00:00Z', headline })
  const announcement = announcementText(raw)
  if (announcement === null) throw new Error('not read')
  const text = pdf(announcement).toString('latin1')
  expectWhole(text)
  expect(text).toContain('\\(and \\\\ slashes\\) ? ? £5m')
  expect(text.match(/\/Type \/Page /g)?.length).toBeGreaterThan(1)
  expect(announcementText('{}')).toBeNull()
})

/** Checks the PDF's cross-reference table: every object offset and every stream length is correct. */
function expectWhole(text: string): void {
  expect(text.slice(0, 9)).toBe('%PDF-1.4\n')
  const [, start = ''] = /startxref\n(\d+)\n%%EOF\n$/.exec(text) ?? []
  const table = text.slice(Number(start))
  const [, size = ''] = /^xref\n0 (\d+)\n0000000000 65535 f \n/.exec(table) ?? []
  const places = [...table.matchAll(/^(\d{10}) 00000 n $/gm)].map(([, place]) => Number(place))
  expect(places).toHaveLength(Number(size) - 1)
  places.forEach((place, index) => {
    expect(text.slice(place)).toMatch(new RegExp(`^${index + 1} 0 obj\n`))
  })
  for (const [, length, stream] of text.matchAll(/\/Length (\d+) >>\nstream\n([\s\S]*?)\nendstream/g))
    expect(stream?.length).toBe(Number(length))
}
