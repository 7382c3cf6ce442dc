import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import {
  chooseTopic,
  codeTopic,
  MOST_CODE_TOPICS,
  NEW_TOPICS_AN_HOUR,
  namedTopics,
  otherTopic,
  placeOf,
  type TopicChoice,
} from '../../../src/log-kafka/topics/topics.ts'

const someCode = fc.string({ minLength: 1, maxLength: 120, unit: 'binary' })

function eventWith(...category: { kind: string; code: string }[]) {
  const data = JSON.stringify({ guid: 'g', timestamp: '2026-01-06T07:00:00Z', category })
  return { type: 'disclosure.published.v1' as const, data }
}

describe('the topic of a category code', () => {
  it('has a name that Kafka accepts, whatever the code', () => {
    fc.assert(
      fc.property(someCode, (code) => {
        expect(codeTopic('fca', code)).toMatch(/^fca\.[A-Za-z0-9_-]+$/)
        // One for each character, also for those that take two places in a string.
        expect(codeTopic('fca', code)).toHaveLength('fca.'.length + [...code].length)
      }),
    )
  })

  it('keeps a code of plain characters unchanged', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{1,80}$/), (code) => {
        expect(codeTopic('native', code)).toBe(`native.${code}`)
      }),
    )
  })

  it('is shared by codes that differ only in special characters, and holds an event once', () => {
    const event = eventWith(
      { kind: 'FCA', code: 'A B' },
      { kind: 'FCA', code: 'A.B' },
      { kind: 'Native', code: 'ME' },
    )
    expect(namedTopics(event, 'Native')).toEqual(['fca.A_B', 'native.ME'])
  })

  it('exists only for the two kinds, and not for gaps', () => {
    expect(namedTopics(eventWith({ kind: 'RNS', code: 'X' }), 'Native')).toEqual([])
    expect(namedTopics({ type: 'bridge.gap.opened.v1', data: '{}' }, 'Native')).toEqual([])
  })
})

describe('choosing topics', () => {
  /** Chooses topics for the codes in that order, one each `everyMs`, keeping the choices. */
  function chosen(codes: readonly string[], known: ReadonlySet<string>, everyMs: number) {
    const choices = new Map<string, TopicChoice>()
    return codes.map((code, index) => {
      const named = codeTopic('fca', code)
      const choice = chooseTopic({ known, choices }, named, index * everyMs)
      if (choice !== null) choices.set(named, choice)
      return { code, named, place: placeOf({ known, choices }, named), atMs: index * everyMs }
    })
  }

  it('gives each code one topic for ever: its own or the shared one', () => {
    fc.assert(
      fc.property(fc.array(someCode, { maxLength: 60 }), fc.nat(HOUR_MS / 2), (codes, everyMs) => {
        const places = new Map<string, string>()
        for (const { named, place } of chosen(codes, new Set(['fca.REN']), everyMs)) {
          expect([named, otherTopic('fca')]).toContain(place)
          expect(places.get(named) ?? place).toBe(place)
          places.set(named, place)
        }
      }),
    )
  })

  it(`creates at most ${NEW_TOPICS_AN_HOUR} an hour`, () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.stringMatching(/^[A-Z]{4}$/), { maxLength: 80 }),
        fc.nat(HOUR_MS / 4),
        (codes, everyMs) => {
          const made = chosen(codes, new Set(), everyMs).filter(({ named, place }) => named === place)
          for (const { atMs } of made) {
            const within = made.filter((other) => other.atMs > atMs - HOUR_MS && other.atMs <= atMs)
            expect(within.length).toBeLessThanOrEqual(NEW_TOPICS_AN_HOUR)
          }
          expect(made.length).toBeGreaterThanOrEqual(Math.min(codes.length, NEW_TOPICS_AN_HOUR))
        },
      ),
    )
  })

  it(`creates at most ${MOST_CODE_TOPICS} in all, existing ones included`, () => {
    const known = new Set(Array.from({ length: MOST_CODE_TOPICS - 2 }, (_, n) => `fca.K${n}`))
    const codes = ['A', 'B', 'C', 'K1', 'A']
    expect(chosen(codes, known, HOUR_MS).map(({ place }) => place)).toEqual([
      'fca.A',
      'fca.B',
      'fca._other',
      'fca.K1',
      'fca.A',
    ])
  })

  it('maps a code too long for a name to the shared topic', () => {
    expect(chosen(['X'.repeat(400)], new Set(), 0)[0]?.place).toBe('fca._other')
  })
})
