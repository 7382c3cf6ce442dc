import { expect, test } from 'vitest'
import { createKeptReplies } from '../../src/upstream/kept-replies.ts'
import { decodeReply, encodeReply, type LeaderReply } from '../../src/upstream/leader-reply.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const good = (text: string): LeaderReply => ({
  status: 200,
  text,
  refusal: null,
  retryAfterMs: null,
  validMs: 60_000,
})

test('a cached reply is returned while it is valid, with its remaining times, and not afterwards', () => {
  const clock = createManualClock()
  const kept = createKeptReplies(clock)
  const refusal = { message: 'no', hint: null }
  kept.keep('/nav', good('a'), clock.now())
  kept.keep('/nav/B', { ...good(''), status: 502, refusal, retryAfterMs: 10_000 }, clock.now())
  clock.advance(59_999)
  expect(kept.get('/nav')).toEqual({ ...good('a'), validMs: 1 })
  expect(kept.get('/nav/B')).toMatchObject({ retryAfterMs: 0 })
  clock.advance(1)
  expect(kept.get('/nav')).toBe(null)
  kept.keep('/nav', { ...good('a'), validMs: 0 }, clock.now())
  expect(kept.get('/nav')).toBe(null)
})

test('a clock that is set back does not make an old reply valid again', () => {
  const clock = createManualClock()
  const kept = createKeptReplies(clock)
  kept.keep('/nav', good('a'), clock.now())
  clock.set(clock.now() - 1000)
  expect(kept.get('/nav')).toBe(null)
})

test('the oldest replies are evicted when there are too many or too large ones', () => {
  const clock = createManualClock()
  const kept = createKeptReplies(clock, { mostReplies: 3, mostCharacters: 10 })
  for (const name of ['a', 'b', 'c', 'd']) kept.keep(name, good(name), clock.now())
  expect(['a', 'b', 'c', 'd'].map((name) => kept.get(name)?.text ?? null)).toEqual([null, 'b', 'c', 'd'])
  kept.keep('e', good('123456789'), clock.now())
  expect(['c', 'd', 'e'].map((name) => kept.get(name)?.text ?? null)).toEqual([null, 'd', '123456789'])
  kept.keep('f', good('12345678901'), clock.now())
  expect(kept.get('f')).toBe(null)
  expect(kept.get('e')).not.toBe(null)
})

test('a reply survives encoding, and an invalid text is not decoded as one', () => {
  const odd = good('{"data":\n"“"}')
  expect(decodeReply(encodeReply(odd))).toEqual(odd)
  const refused = { ...good(''), status: 429, refusal: { message: 'no', hint: 'later' }, retryAfterMs: 5 }
  expect(decodeReply(encodeReply(refused))).toEqual(refused)
  const changed = { ...good('{}'), change: { before: { due: null }, after: { due: 'now' } } }
  expect(decodeReply(encodeReply(changed))).toEqual(changed)
  for (const change of [null, { before: {} }, { before: 1, after: {} }])
    expect(decodeReply(encodeReply({ ...changed, change } as never))).toBe(null)
  for (const text of ['', 'null\n', '{}\n', '{"status":200}\n', '{"status":404,"refusal":null}\nx', '\n{}']) {
    expect(decodeReply(text)).toBe(null)
  }
})
