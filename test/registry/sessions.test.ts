import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../../src/core/durations.ts'
import { type Caller, type NoCaller, settingsCaller } from '../../src/http/auth.ts'
import { createSessions } from '../../src/registry/sessions.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const KEY = 'the key of this test, 32 characters or more'
const NEXT_KEY = 'the key that comes after, 32 characters or more'
const ADMIN = 'the admin token of this test'
const clock = createManualClock()
const desk: Caller = { ...settingsCaller, tokenId: 'tok_desk', tenant: 'desk', seesAllTenants: false }
const callers: Record<string, Caller | NoCaller> = { settings: settingsCaller, tok_desk: desk }

const node = (more: { key?: string; oldKey?: string; adminToken?: string; mostEnded?: number } = {}) =>
  createSessions({
    keys: { key: more.key ?? KEY, oldKey: more.oldKey ?? null },
    adminToken: more.adminToken ?? ADMIN,
    findCaller: (id) => callers[id] ?? 'unknown',
    clock,
    ...(more.mostEnded !== undefined && { mostEnded: more.mostEnded }),
  })

describe('a session', () => {
  test('finds the caller of its token on every node that has the key, as often as it likes', () => {
    const { text, ...session } = node().begin(desk)
    const other = node()
    for (let at = 0; at < 3; at++) expect(other.find(text)).toEqual({ ...desk, session })
    expect(node({ key: NEXT_KEY, oldKey: KEY }).find(text)).toMatchObject({ tokenId: 'tok_desk' })
    expect(node({ key: NEXT_KEY }).find(text)).toBe('unknown')
  })

  test('is known in a navigation from elsewhere too, where it allows nothing', () => {
    const sessions = node()
    const { text } = sessions.begin(desk)
    const request = (value: string, more: IncomingHttpHeaders = {}) => {
      const headers = { host: 'bridge.example', cookie: `other=1; __Host-bridge=${value}`, ...more }
      return { headers, socket: {} } as IncomingMessage
    }
    expect(sessions.isSignedIn(request(text))).toBe(true)
    expect(sessions.findInRequest(request(text, { 'sec-fetch-site': 'none' }))).toBe(null)
    expect(sessions.isSignedIn(request(`${text}x`))).toBe(false)
    const [local, elsewhere] = ['127.0.0.1:8080', 'bridge.example'].map((host) =>
      request('', { host, cookie: `bridge-8080=${text}` }),
    )
    expect([local, elsewhere].map((one) => one && sessions.isSignedIn(one))).toEqual([true, false])
    expect(sessions.isSignedIn({ headers: {}, socket: {} } as IncomingMessage)).toBe(false)
    callers.tok_desk = 'loading'
    expect(sessions.isSignedIn(request(text))).toBe(true)
    callers.tok_desk = desk
  })

  test('lasts twelve hours, one with the admin token, and never longer than its token', () => {
    const begun = clock.now()
    const sessions = node()
    const long = sessions.begin(desk)
    const short = sessions.begin(settingsCaller)
    const ending = sessions.begin({ ...desk, expiresAtMs: begun + 5 * MINUTE_MS })
    expect([long.endsMs, short.endsMs, ending.endsMs].map((endMs) => endMs - begun)).toEqual([
      12 * HOUR_MS,
      HOUR_MS,
      5 * MINUTE_MS,
    ])
    clock.advance(HOUR_MS - 1)
    expect(sessions.find(short.text)).toMatchObject({ tokenId: 'settings' })
    clock.advance(1)
    expect([sessions.find(short.text), sessions.find(ending.text)]).toEqual(['expired', 'expired'])
    clock.advance(11 * HOUR_MS)
    expect(sessions.find(long.text)).toBe('expired')
  })

  test('may change things for a quarter of an hour once it is unlocked, and not beyond its end', () => {
    const sessions = node()
    const locked = sessions.begin(desk)
    const unlockedMs = clock.now()
    const unlocked = sessions.unlock('tok_desk', locked)
    const until = (text: string) => (sessions.find(text) as Caller).session?.unlockedUntilMs
    expect([until(locked.text), until(unlocked.text)]).toEqual([null, unlockedMs + 15 * MINUTE_MS])
    expect(unlocked).toMatchObject({ id: locked.id, endsMs: locked.endsMs })
    clock.advance(15 * MINUTE_MS)
    expect(until(unlocked.text)).toBe(null)
    const last = sessions.begin({ ...desk, expiresAtMs: clock.now() + 1000 })
    expect(sessions.unlock('tok_desk', last).unlockedUntilMs).toBe(last.endsMs)
  })

  test('dies with its token, and that of the admin token when it is changed', () => {
    const { text } = node().begin(desk)
    const admin = node().begin(settingsCaller).text
    delete callers.tok_desk
    expect(node().find(text)).toBe('unknown')
    callers.tok_desk = desk
    expect(node().find(text)).toMatchObject({ tenant: 'desk' })
    expect(node({ adminToken: `${ADMIN}, another` }).find(admin)).toBe('unknown')
    expect(node({ adminToken: `${ADMIN}, another` }).find(text)).toMatchObject({ tenant: 'desk' })
  })

  test('ends on its node with all its cookies, others excepted; of more ends than it remembers it forgets the oldest', () => {
    const sessions = node({ mostEnded: 2 })
    const [first, second, third] = [sessions.begin(desk), sessions.begin(desk), sessions.begin(desk)]
    const unlocked = sessions.unlock('tok_desk', first)
    sessions.end(unlocked)
    expect([sessions.find(first.text), sessions.find(unlocked.text)]).toEqual(['unknown', 'unknown'])
    expect(sessions.find(second.text)).toMatchObject({ tenant: 'desk' })
    sessions.end(second)
    sessions.end(third)
    expect([sessions.find(second.text), sessions.find(third.text)]).toEqual(['unknown', 'unknown'])
    expect(sessions.find(first.text)).toMatchObject({ tenant: 'desk' })
  })

  test('with any character changed is nobody, nor is a ticket, a link or a text of another kind', () => {
    const sessions = node()
    const { text } = sessions.begin(desk)
    expect(encodeURIComponent(text)).toBe(text)
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom(...'aZ09._-%\u0000é'), (at, character) => {
        const changed = text.slice(0, at) + character + text.slice(at + 1)
        const found = sessions.find(changed)
        // The last character of a signature has bits that mean nothing.
        if (changed !== text && at < text.length - 1) expect(found).toBe('unknown')
      }),
    )
    const { ticket } = sessions.links.give(desk)
    for (const other of ['', '.', 's1', text.replace('tok_desk', 'settings'), ticket, `s1${ticket.slice(2)}`])
      expect(sessions.find(other)).toBe('unknown')
    expect(sessions.links.take(text)).toBe('unknown')
  })
})

test('a link of the admin token dies when that is changed', () => {
  const { ticket } = node().links.give(settingsCaller, MINUTE_MS)
  expect(node({ adminToken: `${ADMIN}, another` }).links.take(ticket)).toBe('unknown')
  expect(node().links.take(ticket)).toEqual({ tokenId: 'settings' })
})

test('a link is good once on a node, for as long as it was made for', () => {
  const { links } = node()
  const { ticket, expiresAtMs } = links.give(desk, MINUTE_MS)
  expect(ticket).toMatch(/^c1\./)
  expect(expiresAtMs - clock.now()).toBe(MINUTE_MS)
  expect(links.take(ticket)).toEqual({ tokenId: 'tok_desk' })
  expect(links.take(ticket)).toBe('used')
  const late = links.give(desk, MINUTE_MS).ticket
  clock.advance(MINUTE_MS)
  expect(links.take(late)).toBe('expired')
})
