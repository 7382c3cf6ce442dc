import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTickets, TICKET_LIFE_MS, TICKET_RESUME_MS } from '../../src/registry/tickets.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const KEY = 'the key of this test, 32 characters or more'
const NEXT_KEY = 'the key that comes after, 32 characters or more'
const ADMIN = 'the admin token of this test'
const TOKEN = { tokenId: 'tok_0mb7f7zk0abcdefabcdef', expiresAtMs: null }
const TOKEN_ID = { tokenId: TOKEN.tokenId }
const clock = createManualClock()

const node = (keys: { key: string; oldKey: string | null } = { key: KEY, oldKey: null }, mostUsed = 10) =>
  createTickets({ keys, adminToken: ADMIN, clock, mostUsed })

describe('a ticket', () => {
  test('authenticates its token once on each node that has the key', () => {
    const [first, second] = [node(), node()]
    const { ticket, expiresAtMs } = first.give(TOKEN)
    expect(expiresAtMs).toBe(clock.now() + 30_000)
    expect(second.take(ticket)).toEqual(TOKEN_ID)
    expect(second.take(ticket)).toBe('used')
    expect(first.take(ticket)).toEqual(TOKEN_ID)
    expect(first.take(ticket)).toBe('used')
  })

  test('needs no escaping in a URL, and no two are alike', () => {
    const tickets = node()
    const all = Array.from({ length: 20 }, () => tickets.give(TOKEN).ticket)
    expect(new Set(all).size).toBe(20)
    for (const ticket of all) expect(encodeURIComponent(ticket)).toBe(ticket)
  })

  test('expires after 30 s, or with its token', () => {
    const tickets = node()
    const { ticket } = tickets.give(TOKEN)
    const short = tickets.give({ ...TOKEN, expiresAtMs: clock.now() + 1000 })
    expect(short.expiresAtMs).toBe(clock.now() + 1000)
    const late = tickets.give(TOKEN)
    clock.advance(1000)
    expect(tickets.take(short.ticket)).toBe('expired')
    clock.advance(TICKET_LIFE_MS - 1001)
    expect(tickets.take(ticket)).toEqual(TOKEN_ID)
    clock.advance(1)
    expect([tickets.take(ticket), tickets.take(late.ticket)]).toEqual(['expired', 'expired'])
  })

  test('stays valid while the key is changed node by node, and no longer than that', () => {
    const before = node({ key: KEY, oldKey: null })
    const after = node({ key: NEXT_KEY, oldKey: KEY })
    const ready = node({ key: KEY, oldKey: NEXT_KEY })
    expect(after.take(before.give(TOKEN).ticket)).toEqual(TOKEN_ID)
    expect(ready.take(after.give(TOKEN).ticket)).toEqual(TOKEN_ID)
    expect(before.take(after.give(TOKEN).ticket)).toBe('unknown')
    expect(node({ key: NEXT_KEY, oldKey: null }).take(before.give(TOKEN).ticket)).toBe('unknown')
  })

  test('of the admin token opens nothing once that is changed; those of other tokens do', () => {
    const [before, keys] = [node(), { key: KEY, oldKey: null }]
    const after = createTickets({ keys, adminToken: `${ADMIN}, another`, clock })
    const { ticket } = before.give({ ...TOKEN, tokenId: 'settings' })
    expect([after.take(ticket), after.enter(ticket, true)]).toEqual(['unknown', 'unknown'])
    expect(node().take(ticket)).toEqual({ tokenId: 'settings' })
    expect(after.take(before.give(TOKEN).ticket)).toEqual(TOKEN_ID)
  })

  test('of a session opens and resumes nothing after the session', () => {
    const endsMs = clock.now() + 10_000
    const session = { id: 'x', endsMs, unlockedUntilMs: null }
    const { ticket, expiresAtMs } = node().give({ ...TOKEN, session })
    expect(expiresAtMs).toBe(endsMs)
    expect(node().enter(ticket, false)).toMatchObject({ endsMs })
    clock.advance(10_000)
    expect([node().take(ticket), node().enter(ticket, true)]).toEqual(['expired', 'expired'])
    const late = node().give({ ...TOKEN, session: { ...session, endsMs: clock.now() + TICKET_RESUME_MS } })
    expect(node().enter(late.ticket, false)).toMatchObject({ endsMs: clock.now() + TICKET_RESUME_MS })
  })

  test('with any character changed authenticates nothing new', () => {
    const { ticket } = node().give(TOKEN)
    fc.assert(
      fc.property(fc.nat(ticket.length - 1), fc.constantFrom(...'aZ09._-%\u0000é'), (at, character) => {
        fc.pre(ticket[at] !== character)
        const changed = `${ticket.slice(0, at)}${character}${ticket.slice(at + 1)}`
        const tickets = node()
        tickets.take(ticket)
        // The last character of the signature holds two bits that mean nothing: the same ticket, used already.
        expect(['unknown', 'used']).toContain(tickets.take(changed))
      }),
    )
  })

  test.each([
    '',
    '.',
    '....',
    't1',
    't1.settings.zzzzzzzzz.AAAA',
    't1.settings.zzzzzzzzz.AAAA.',
    `t1.settings.zzzzzzzzz.AAAA.${'A'.repeat(43)}`,
    'x'.repeat(4000),
  ])('is not the text %.40j', (text) => {
    expect(node().take(text)).toBe('unknown')
  })
})

describe('the memory of used tickets', () => {
  test('is limited; when full it refuses tickets and forgets none', () => {
    const tickets = node(undefined, 2)
    const [first, second, third] = [1, 2, 3].map(
      (tokenId) => tickets.give({ ...TOKEN, tokenId: `t${tokenId}` }).ticket,
    )
    expect(tickets.take(first ?? '')).toMatchObject({ tokenId: 't1' })
    expect(tickets.take(second ?? '')).toMatchObject({ tokenId: 't2' })
    expect(tickets.take(third ?? '')).toBe('full')
    expect(tickets.take(first ?? '')).toBe('used')
  })

  test('has a share for each token, so that one leaves room for the tickets of others', () => {
    const tickets = node(undefined, 20)
    const use = (tokenId: string) => tickets.take(tickets.give({ ...TOKEN, tokenId }).ticket)
    expect(['a', 'a', 'a', 'b'].map(use)).toEqual([
      { tokenId: 'a' },
      { tokenId: 'a' },
      'token_full',
      { tokenId: 'b' },
    ])
    for (let count = 0; count < 17; count++) expect(use('settings')).toEqual({ tokenId: 'settings' })
    expect(use('b')).toBe('full')
    clock.advance(TICKET_LIFE_MS)
    expect(use('a')).toEqual({ tokenId: 'a' })
  })

  test('drops expired tickets, which makes room', () => {
    const tickets = node(undefined, 2)
    for (let round = 0; round < 5; round += 1) {
      const [first, second, third] = [1, 2, 3].map(
        (tokenId) => tickets.give({ ...TOKEN, tokenId: `t${tokenId}` }).ticket,
      )
      expect(tickets.take(first ?? '')).toMatchObject({ tokenId: 't1' })
      expect(tickets.take(second ?? '')).toMatchObject({ tokenId: 't2' })
      expect(tickets.take(third ?? '')).toBe('full')
      clock.advance(TICKET_LIFE_MS)
      expect(tickets.take(first ?? '')).toBe('expired')
    }
  })
})
