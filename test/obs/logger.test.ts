import { describe, expect, test } from 'vitest'
import { BridgeError } from '../../src/errors.ts'
import { createLogger } from '../../src/obs/logger.ts'

const SECRETS = ['planted upstream key/1', 'planted-admin-token']

function capture(level: 'debug' | 'info' = 'info') {
  const lines: string[] = []
  const logger = createLogger({
    level,
    secrets: SECRETS,
    destination: { write: (line) => void lines.push(line) },
  })
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> }
}

describe('the logger', () => {
  test('writes one line of JSON with level, time, event and its meaning', () => {
    const { logger, lines, last } = capture()
    logger.info('poll.done', { items: 3, durationMs: 12.5, hasMore: false, reason: null })
    expect(lines).toHaveLength(1)
    expect(last()).toMatchObject({
      level: 'info',
      event: 'poll.done',
      items: 3,
      durationMs: 12.5,
      reason: null,
      msg: expect.stringMatching(
        /^A poll of the upstream succeeded; `items` is the number of items it returned\./,
      ),
    })
    expect(String(last().time)).toMatch(/^\d{4}-.*Z$/)
  })

  test('writes nothing that steers a terminal or turns text around, and loses none of it', () => {
    const { logger, lines, last } = capture()
    const reason = '\u009b31m \u202eexe.txt \u2028 \ufeff \u{e0041} \u007f \u001b[2J'
    logger.warn('poll.done', { reason, warnings: [reason], error: new Error(reason) })
    expect(lines[0]).toMatch(/^[\x20-\x7e]+\n$/)
    expect(last()).toMatchObject({ reason, warnings: [reason], error: { message: reason } })
  })

  test('takes values that have no primitive form', () => {
    const { logger, last } = capture()
    const value = JSON.parse('{"toString":1,"valueOf":1}') as object
    logger.warn('poll.done', { errors: [[[[value]]]], reason: Symbol('x') })
    expect(last()).toMatchObject({ errors: [[['a list']]], reason: 'a symbol' })
  })

  test('drops every field that is not on the allow-list, in nested values too', () => {
    const { logger, last, lines } = capture()
    const fields = { authorization: 'Bearer a', body: 'b', items: 1, error: { code: 'c', headers: 'd' } }
    logger.warn('poll.done', fields)
    expect(last()).toMatchObject({ items: 1, error: { code: 'c' } })
    expect(lines[0]).not.toMatch(/authorization|body|headers/)
  })

  test('never writes a planted secret, whatever carries it', () => {
    const { logger, lines } = capture('debug')
    for (const secret of SECRETS) {
      const error = new Error(`GET https://a.example/v2?key=${secret}`, {
        cause: new BridgeError('upstream', `refused ${secret}`, { hint: `try ${secret}` }),
      })
      logger.error(`x.${secret}` as 'poll.done', {
        error,
        message: secret,
        reason: encodeURIComponent(secret),
      })
      logger.info('poll.done', {
        errors: [secret, { message: secret }, [[[[secret]]]]],
        settings: { BRIDGE_X: secret },
      })
      logger.debug('poll.done', {
        error: new AggregateError([new Error(secret)], secret),
        code: { toString: () => secret },
      })
    }
    expect(lines).toHaveLength(6)
    for (const secret of SECRETS) {
      expect(lines.join('')).not.toContain(secret)
      expect(lines.join('')).not.toContain(encodeURIComponent(secret))
    }
  })

  test('takes queries and credentials out of addresses', () => {
    const { logger, last } = capture()
    logger.info('poll.done', {
      url: 'https://user:word@a.example/v2/items?ticket=t#f and http://b.example/?q',
    })
    expect(last().url).toBe('https://a.example/v2/items and http://b.example/')
  })

  test('cuts long texts and lists, and survives values that are no JSON', () => {
    const { logger, lines, last } = capture()
    const circle: Record<string, unknown> = { items: 1n }
    circle.error = circle
    logger.info('poll.done', {
      message: 'm'.repeat(5000),
      errors: new Array(500).fill(1),
      error: circle,
      count: 2n,
    })
    expect(String(last().message)).toHaveLength(1001)
    expect(last().errors).toHaveLength(50)
    expect(lines[0]?.length).toBeLessThan(5000)
  })

  test('is silent below its level', () => {
    const { logger, lines } = capture()
    logger.debug('poll.done')
    expect(lines).toEqual([])
  })
})
