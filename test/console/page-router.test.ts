/** Tests how the console's page is served, over real sockets: the page itself is the product's. */
import { posix } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { consoleMounts } from '../../src/console/page-router.ts'
import { createPageSource } from '../../src/console/page-source.ts'
import { createApp } from '../../src/http/app.ts'
import { type Listener, listen } from '../../src/http/listener.ts'
import { RateLimits } from '../../src/http/rate-limits.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { raw } from '../http/raw.ts'
import { keepingLogger } from '../support/keeping-logger.ts'

const { logger } = keepingLogger()
const stopping = new AbortController()
let listener: Listener
let page: ReturnType<typeof createPageSource>

beforeAll(async () => {
  const rates = new RateLimits({
    perToken: null,
    perAddress: 10_000,
    addressOf: () => ({ key: 'one', shown: 'one' }) as never,
    clock: systemClock,
    onRefused: () => {},
  })
  page = createPageSource({ clock: systemClock, logger, stopping: stopping.signal })
  const mounts = consoleMounts({ page, isSignedIn: ({ headers }) => headers.cookie === 'live', rates })
  const app = createApp({ routes: [], mounts, authenticate: () => 'unknown', corsOrigins: [], rates, logger })
  listener = await listen(app, { host: '127.0.0.1', port: 0, setting: '', clock: systemClock, logger })
})

afterAll(async () => {
  stopping.abort()
  await listener.close(0)
})

function get(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${listener.url}${path}`, { redirect: 'manual', ...init })
}

async function shell(): Promise<string> {
  return (await get('/console/')).text()
}

/** The addresses that the shell loads. */
async function assets(): Promise<string[]> {
  return [...(await shell()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path)
}

test('the shell is HTML under a policy that lets nothing run, load or be sent anywhere else', async () => {
  const response = await get('/console/?q=tender&from=earliest')
  expect(response.status).toBe(200)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'ratelimit-limit': '200000',
  })
  const text = await response.text()
  expect(text).toMatch(/^<!doctype html>/)
  expect(text).not.toMatch(/<script[^>]*>[^<]|<style| style=| on\w+=/)
})

test('the shell, and what its files import, leads to every file of the page, which browsers keep for ever', async () => {
  const waiting = await assets()
  const seen = new Set(waiting)
  expect(waiting).toHaveLength(2)
  for (const path of waiting) {
    const response = await get(path)
    expect(response.status, path).toBe(200)
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const code = await response.text()
    if (path.endsWith('.css')) continue
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    // The texts of the page may have the word, too: an import ends its line.
    const imports = /(?:^(?:import|export|\}).*?from ?|\bimport\()["']([^"']+)["'](?:\)|;|$)/gm
    for (const [, name = ''] of code.matchAll(imports)) {
      expect(name, path).toMatch(/^\.{1,2}\//)
      const target = new URL(name, `http://console.example${path}`).pathname
      if (!seen.has(target)) waiting.push(target)
      seen.add(target)
    }
  }
  const { files, screens } = await page()
  expect([...seen].map((path) => path.split('/').at(-1)).sort()).toEqual([...files.keys()].sort())
  expect(screens.length).toBeGreaterThan(3)
  for (const screen of screens) expect((await get(`/console/${screen}/x`)).status, screen).toBe(200)
})

test('files come in the best encoding that the client takes, and plain where it takes none', async () => {
  const path = (await assets()).find((one) => one.endsWith('main.js')) ?? ''
  const { port } = listener
  const ask = (accept: string) =>
    raw(port, `GET ${path} HTTP/1.1\r\nHost: x\r\n${accept}Connection: close\r\n\r\n`)
  const plain = await ask('')
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.headers.vary).toBe('Accept-Encoding')
  expect(plain.body).toContain('render(')
  expect(plain.body).not.toMatch(/import type|^ *\/\*\*/m)
  const brotli = await ask('Accept-Encoding: gzip, deflate, br, zstd\r\n')
  expect(brotli.headers['content-encoding']).toBe('br')
  expect(brotliDecompressSync(Buffer.from(brotli.body, 'latin1')).toString('latin1')).toBe(plain.body)
  expect((await ask('Accept-Encoding: gzip\r\n')).headers['content-encoding']).toBe('gzip')
  const { plain: kept } = (await page()).files.get('main.js') ?? {}
  expect(kept?.toString('latin1')).toBe(plain.body)
  expect((await ask('Accept-Encoding: br;q=0, gzip;q=0\r\n')).body).toBe(plain.body)
  expect((await page()).files.get('main.js')?.plain).toBe(kept)
})

test('the overview comes in 60 KB with its headers, and what other screens need comes later', async () => {
  const sizes = new Map<string, number>()
  const load = async (path: string): Promise<string> => {
    const { headers, body } = await raw(
      listener.port,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br\r\nConnection: close\r\n\r\n`,
    )
    const head = Object.entries(headers).reduce(
      (sum, [name, text]) => sum + name.length + text.length + 4,
      17,
    )
    sizes.set(path, head + body.length)
    const bytes = Buffer.from(body, 'latin1')
    return headers['content-encoding'] === 'br' ? brotliDecompressSync(bytes).toString() : bytes.toString()
  }
  const shellText = await load('/console/')
  const loadWhole = async (path: string): Promise<string> => {
    if (sizes.has(path)) return ''
    const text = await load(path)
    for (const [, name = ''] of text.matchAll(/^import .* from '\.\/(.*)'$/gm))
      await loadWhole(posix.join(posix.dirname(path), name))
    return text
  }
  const texts: string[] = []
  for (const [, path = ''] of shellText.matchAll(/(?:src|href)="(\/[^"]+)"/g))
    texts.push(await loadWhole(path))
  const [, home = ''] = /import\('\.\/(home-screen[^']*)'\)/.exec(texts.join()) ?? []
  const [main = ''] = [...sizes.keys()].filter((path) => path.endsWith('.js'))
  await loadWhole(posix.join(posix.dirname(main), home))
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0)
  expect(total, JSON.stringify([...sizes])).toBeLessThan(60_000)
  expect(sizes.size).toBeLessThan((await page()).files.size)
})

test('HEAD answers as GET does, without a body', async () => {
  for (const path of ['/console/', ...(await assets())]) {
    const [full, head] = [await get(path), await get(path, { method: 'HEAD' })]
    await full.arrayBuffer()
    expect(head.status).toBe(200)
    expect(await head.text()).toBe('')
    for (const name of ['content-type', 'content-length', 'cache-control', 'content-encoding'])
      expect(head.headers.get(name), `${path} ${name}`).toBe(full.headers.get(name))
  }
})

test('what the console does not have is a plain 404, and a stale file too, which nobody may keep', async () => {
  const [known = ''] = await assets()
  const stale = known.replace(/assets\/\w+\/.*/, 'assets/0123456789abcdef/style.css')
  const inside = `${known.split('/src/')[0]}/src/console/page-router.ts`
  for (const path of [
    '/console/nothing',
    '/console/.env',
    '/console/assets/',
    stale,
    inside,
    '/console/assets/x/y',
  ]) {
    const response = await get(path)
    expect(response.status, path).toBe(404)
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.json()).toMatchObject({ code: 'not_found' })
  }
  const folder = posix.dirname(known)
  // `fetch` would resolve them itself.
  for (const up of ['../../..', '%2e%2e/%2e%2e/%2e%2e', '..%2f..%2f..', '..%5c..%5c..']) {
    const { status, body } = await raw(
      listener.port,
      `GET ${folder}/${up}/package.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    )
    expect([status, JSON.parse(body)], up).toMatchObject([404, { code: 'not_found' }])
  }
  expect((await get('/consoles/')).status).toBe(404)
  expect((await get('/CONSOLE/')).status).toBe(404)
})

test('other methods, bodies and broken addresses get the answers of every path', async () => {
  const refused = await get('/console/', { method: 'POST', body: '{}' })
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  const asked = await get('/console/', { method: 'OPTIONS' })
  expect([asked.status, asked.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
  expect(await (await get('/console/%ff')).json()).toMatchObject({ code: 'url_malformed' })
  expect((await get(`/console/?${'x'.repeat(17_000)}`)).status).toBe(414)
})

test('browsers come from / and /console to the page; a client of the API does not', async () => {
  const toConsole = async (path: string, accept: string) => {
    const response = await get(path, { headers: { accept } })
    return [response.status, response.headers.get('location')]
  }
  expect(await toConsole('/', 'text/html,application/xhtml+xml,*/*;q=0.8')).toEqual([302, '/console/'])
  expect(await toConsole('/', '*/*')).toEqual([302, '/console/'])
  expect(await toConsole('/console', '*/*')).toEqual([308, '/console/'])
  expect(await toConsole('/', 'application/json')).toEqual([404, null])
  const refused = await get('/', { method: 'POST' })
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
})

test('the shell lets a link sign in unasked only where the browser says that nobody else has led here, and has no session', async () => {
  const opened = async (site?: string, cookie = 'ended') => {
    const header = `${site === undefined ? '' : `Sec-Fetch-Site: ${site}\r\n`}Cookie: ${cookie}\r\n`
    const { body } = await raw(listener.port, `GET /console/ HTTP/1.1\r\nHost: x\r\n${header}\r\n`)
    return body.includes('name="opened"')
  }
  expect([await opened('none'), await opened('same-origin')]).toEqual([true, true])
  for (const site of ['cross-site', 'same-site', undefined]) expect(await opened(site), site).toBe(false)
  expect([await opened('none', 'live'), await opened('same-origin', 'live')]).toEqual([false, false])
})

test('the script of another version of the page says to load it again; its other files are not found', async () => {
  const [, hash = ''] = /assets\/([0-9a-f]{16})\//.exec(await shell()) ?? []
  const other = hash.replace(/./g, (digit) => (digit === '0' ? '1' : '0'))
  const script = await get(`/console/assets/${other}/main.js`)
  expect([script.status, script.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(await script.text()).toContain('Load this page again')
  expect((await get(`/console/assets/${other}/style.css`)).status).toBe(404)
  expect((await get(`/console/assets/${hash}/main.js`)).headers.get('cache-control')).toContain('immutable')
})
