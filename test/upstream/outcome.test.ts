import { expect, test } from 'vitest'
import { networkWordsOf } from '../../src/cli/client/network-words.ts'
import { classifyStatus, classifyThrown, failureWords, oneLine } from '../../src/upstream/outcome.ts'

const error = (code: string, more: object = {}) => Object.assign(new Error('x'), { code, ...more })
const wrapped = (cause: unknown) => new TypeError('fetch failed', { cause })

test('each status maps to one kind of failure', () => {
  const kinds = [200, 204, 301, 304, 400, 401, 403, 404, 409, 429, 500, 503, 599].map(
    (status) => classifyStatus(status, null, '').kind,
  )
  expect(kinds).toEqual([
    'invalid',
    'invalid',
    'invalid',
    'invalid',
    'refused',
    'unauthorised',
    'unauthorised',
    'refused',
    'refused',
    'too_many',
    'server_error',
    'server_error',
    'server_error',
  ])
})

test('an error outcome has the message and the hint of the body, each cut to 300 characters, whatever the body', () => {
  const body = JSON.stringify({ error: { message: 'bad cursor', hint: 'start over' } })
  expect(classifyStatus(400, null, body)).toEqual({
    kind: 'refused',
    status: 400,
    message: 'bad cursor',
    hint: 'start over',
  })
  for (const odd of ['', 'null', '<html>', '[]', '{"error":null}', '{"error":{"message":{"a":1}}}', '"x"']) {
    expect(classifyStatus(404, null, odd)).toMatchObject({ kind: 'refused', message: '', hint: null })
  }
  const words = { message: 'm'.repeat(5000), hint: 'h'.repeat(5000) }
  const long = classifyStatus(400, null, JSON.stringify({ error: words }))
  expect(long).toMatchObject({ message: 'm'.repeat(300), hint: 'h'.repeat(300) })
})

test('a log line joins message and hint, without a dash when there is only one', () => {
  expect(oneLine({ message: 'bad cursor', hint: 'start over' })).toBe('bad cursor – start over')
  expect(oneLine({ message: 'bad cursor', hint: null })).toBe('bad cursor')
  expect(oneLine({ message: '', hint: 'start over' })).toBe('start over')
  expect(oneLine({ message: '', hint: null })).toBe('')
})

test('a connection that was never established refunds its unit, for every such error code', () => {
  const never = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'CERT_HAS_EXPIRED']
  for (const code of [...never, 'UND_ERR_CONNECT_TIMEOUT', 'SELF_SIGNED_CERT_IN_CHAIN']) {
    expect(classifyThrown(wrapped(error(code)))).toEqual({
      failure: { kind: 'network', message: code },
      sent: false,
    })
  }
})

test('a connection that broke later keeps its unit spent: upstream may have counted it', () => {
  for (const code of ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'ETIMEDOUT', 'HPE_INVALID_CONSTANT']) {
    expect(classifyThrown(wrapped(error(code)))).toEqual({
      failure: { kind: 'network', message: code },
      sent: true,
    })
  }
})

test('the error code is the innermost one, also when several addresses were tried', () => {
  const several = error('ECONNREFUSED', { errors: [error('EHOSTUNREACH'), error('ECONNREFUSED')] })
  expect(classifyThrown(wrapped(several)).failure).toEqual({ kind: 'network', message: 'EHOSTUNREACH' })
  expect(classifyThrown(wrapped(several)).sent).toBe(false)
})

test('a broken content encoding is an invalid response, not a network failure', () => {
  for (const code of ['Z_DATA_ERROR', 'Z_BUF_ERROR', 'ERR__ERROR_FORMAT_PADDING_1']) {
    expect(classifyThrown(wrapped(error(code)))).toEqual({
      failure: { kind: 'invalid', reason: `encoding: ${code}` },
      sent: true,
    })
  }
})

test('a port that fetch blocks is named as the reason, and nothing was sent', async () => {
  const thrown = await fetch('http://127.0.0.1:1/').catch((caught: unknown) => caught)
  expect(classifyThrown(thrown)).toEqual({ failure: { kind: 'network', message: 'bad port' }, sent: false })
  expect(networkWordsOf(thrown).what).toBe('fetch blocks that port')
})

test('every thrown value is classified', () => {
  for (const thrown of [
    undefined,
    null,
    'x',
    3,
    {},
    { code: 7 },
    { cause: {} },
    { errors: [] },
    new Error('x'),
  ]) {
    expect(classifyThrown(thrown).failure.kind).toBe('network')
  }
})

test('what upstream says with a throttle, a refused key or a failure is kept and shown', () => {
  const body = JSON.stringify({ error: { message: 'not now', hint: 'wait' } })
  const words = { message: 'not now', hint: 'wait' }
  for (const status of [401, 403, 404, 429, 500, 503]) {
    const failure = classifyStatus(status, null, body)
    expect(failure).toMatchObject(words)
    expect(failureWords(failure)).toBe(`status ${status}: not now – wait`)
    expect(failureWords(classifyStatus(status, null, ''))).toBe(`status ${status}`)
  }
  expect(failureWords({ kind: 'timeout', phase: 'body' })).toBe('no body in time')
  expect(failureWords({ kind: 'network', message: 'ECONNRESET' })).toBe('ECONNRESET')
  expect(failureWords({ kind: 'invalid', reason: 'the body is not JSON' })).toBe('the body is not JSON')
})
