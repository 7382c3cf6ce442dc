/**
 * Serves answers that no real upstream would send, from a thread of its own. The last segment of a request's path names the
 * answer; below `/NAME/v2` it is the list of an upstream that has this page since the first poll. Run it as a worker; it
 * posts its port.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { ITEMS_PATH } from '../../../src/core/upstream-paths.ts'

const MIB = 1024 * 1024
const GOOD = '{"guid":"good","timestamp":"2026-01-06T07:00:00Z","headline":"Good"}'
const PAGING = '"meta":{"paging":{"latestCursor":"c","hasMore":false,"nextCursor":null}}'

const listOf = (items: string, rest = PAGING): string => `{"data":[${items}],${rest}}`
const large = (member: string): string => `{"guid":"large","timestamp":"2026-01-06T07:00:00Z",${member}}`
/** An item of the usual size, 1.3 KB. */
const usual = (n: number): string =>
  large(`"rnsId":"${n}","headline":"Company ${n % 700} Final Results ${n}","text":"${filled('Words of it. ', 900)}",
    "issuer":{"name":"Company ${n % 700}","lei":"LEI${n % 700}","instrument":{"isin":"GB${n % 700}","symbol":{"mnemonic":"C${n % 700}"}}},
    "category":[{"kind":"FCA","code":"FR","name":"Results"},{"kind":"Native","code":"RE","name":"Results"}]`)
    .replace('large', `urn:newsml:example:20260106:${n}:1`)
    .replaceAll(/\n */g, '')
/** A text of many equal parts, as long as that. */
const filled = (part: string, bytes: number): string => part.repeat(Math.floor(bytes / part.length))

/** A name and what makes the body: some of them are 64 MB long, so only one is held at a time. */
export const hostileBodies: Readonly<Record<string, () => string>> = {
  'one item of 60 MB of text': () => listOf(`${large(`"headline":"${filled('x', 60 * MIB)}"`)},${GOOD}`),
  'one item of 60 MB of escaped quotes': () =>
    listOf(`${large(`"headline":"${filled('\\"', 60 * MIB)}"`)},${GOOD}`),
  'one item of 60 MB of backslashes': () =>
    listOf(`${large(`"headline":"${filled('\\\\', 60 * MIB)}"`)},${GOOD}`),
  'one item of 30 M lists': () => listOf(`${large(`"more":[${filled('[],', 60 * MIB)}[]]`)},${GOOD}`),
  'one item of 10 M members': () => listOf(`${large(`${filled('"a":1,', 60 * MIB)}"b":1`)},${GOOD}`),
  'one item nested 30 M deep': () =>
    listOf(`${large(`"deep":${filled('[', 30 * MIB)}${filled(']', 30 * MIB)}`)},${GOOD}`),
  'one item of 60 MB without ASCII': () =>
    listOf(`${large(`"headline":"${filled('é', 30 * MIB)}"`)},${GOOD}`),
  '120 items of half a megabyte': () => {
    const item = (n: number): string =>
      large(`"n":${n},"headline":"${filled('x', 500_000)}"`).replace('large', `n${n}`)
    return listOf(`${Array.from({ length: 120 }, (_, n) => item(n)).join(',')},${GOOD}`)
  },
  '40 items of half a megabyte of members': () => {
    const item = (n: number): string =>
      large(`"more":[${filled('{"a":1},', 500_000)}{}]`).replace('large', `n${n}`)
    return listOf(`${Array.from({ length: 40 }, (_, n) => item(n)).join(',')},${GOOD}`)
  },
  '5,000 items': () =>
    listOf(Array.from({ length: 5000 }, (_, n) => GOOD.replace('good', `n${n}`)).join(',')),
  '5,000 usual items': () => listOf(Array.from({ length: 5000 }, (_, n) => usual(n)).join(',')),
  '5,000 unreadable items of 12 KB': () =>
    listOf(Array.from({ length: 5000 }, (_, n) => `"${n}${'x'.repeat(12_000)}"`).join(',')),
  '1,000,000 tiny items': () => listOf(`${filled('{},', 3_000_000)}{}`),
  'a cursor of 10 MB': () =>
    listOf(GOOD, `"meta":{"paging":{"latestCursor":"${filled('c', 10 * MIB)}","hasMore":false}}`),
  '60 MB of blanks': () => listOf(`${GOOD}${filled(' ', 60 * MIB)}`),
  '60 MB of members': () => `{${filled('"a":1,', 60 * MIB)}"data":[]}`,
  '60 MB of one number': () => listOf(`${filled('1', 60 * MIB)},${GOOD}`),
  'an error of 60 MB': () => `{"error":{"message":"${filled('x', 60 * MIB)}"}}`,
  'more than 64 MB': () => listOf(`"${filled('x', 64 * MIB)}"`),
  'a page byte by byte': () => listOf(Array.from({ length: 3000 }, () => GOOD).join(',')),
}

/** The answer of that name to a request of the list; an empty page for the first one, and after the cursor of the answer. */
function listAnswer(name: string, query: URLSearchParams): string {
  const isFirst = !query.has('sinceCursor') && !query.has('dateFrom')
  if (!isFirst && query.get('sinceCursor') !== 'c') return hostileBodies[name]?.() ?? ''
  return listOf('', isFirst ? PAGING.replace('"c"', '"before"') : PAGING)
}

function serve(): void {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1')
    if (pathname.endsWith(`/v2${ITEMS_PATH}`)) {
      const [, first = ''] = pathname.split('/')
      response.end(listAnswer(decodeURIComponent(first), searchParams))
      return
    }
    const name = decodeURIComponent(pathname.split('/').at(-1) ?? '')
    const body = Buffer.from(hostileBodies[name]?.() ?? '')
    if (name.startsWith('an error')) response.statusCode = 500
    if (name.endsWith('byte by byte')) {
      for (const byte of body) response.write(Buffer.of(byte))
      response.end()
    } else if (
      request.headers['accept-encoding']?.includes('gzip') === true &&
      name.startsWith('60 MB of blanks')
    ) {
      response.setHeader('content-encoding', 'gzip')
      response.end(gzipSync(body, { level: 1 }))
    } else response.end(body)
  })
  server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port))
}

if (parentPort !== null) serve()
