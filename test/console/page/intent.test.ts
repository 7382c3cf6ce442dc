/** What somebody wants done is done once: a request is named alike until it is answered. */
import { expect, test } from 'vitest'
import { createIntent } from '../../../src/console/page/parts/forms/intent.ts'
import { resentWords } from '../../../src/console/page/parts/forms/resend.ts'
import type { ApiProblem, ApiResult } from '../../../src/console/page/shell/api.ts'

const refusal = (kind: ApiProblem['kind']): ApiResult<never> => {
  const plain = { status: null, code: null, detail: '', hint: null, errors: [], retryInMs: null }
  return { ok: false, problem: { kind, ...plain } }
}

test('a second click, and one after a lost answer, name the same intent', () => {
  const intent = createIntent()
  const first = intent.headersFor({ ids: ['a'] })
  expect(first['idempotency-key']).toMatch(/^[0-9a-f]{32}$/)
  expect(intent.headersFor({ ids: ['a'] })).toEqual(first)
  for (const kind of ['unreachable', 'failed'] as const) {
    intent.answered(refusal(kind))
    expect(intent.headersFor({ ids: ['a'] }), kind).toEqual(first)
  }
})

test('after an answer, and with another body, it is another intent', () => {
  const intent = createIntent()
  const keys = new Set([intent.headersFor({ ids: ['a'] })['idempotency-key']])
  keys.add(intent.headersFor({ ids: ['b'] })['idempotency-key'])
  intent.answered({ ok: true, value: null, text: '' })
  keys.add(intent.headersFor({ ids: ['b'] })['idempotency-key'])
  intent.answered(refusal('refused'))
  keys.add(intent.headersFor({ ids: ['b'] })['idempotency-key'])
  expect(keys.size).toBe(4)
})

test('an event for an endpoint that rests is not said to be sent now', () => {
  expect(resentWords('active')).toBe('It is sent again now.')
  for (const status of ['paused', 'disabled'])
    expect(resentWords(status)).toMatch(/^It will be sent again when/)
})
