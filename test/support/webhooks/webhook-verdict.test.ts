import { expect, test } from 'vitest'
import { newSecret, signatures, signingKey } from '../../../src/core/signature.ts'
import type { ApiEvent } from '../http/api-client.ts'
import type { Receipt } from './scripted-receivers.ts'
import { judgeWebhooks, webhookIdOf } from './webhook-verdict.ts'

const secret = newSecret()
const events = ['a', 'b', 'a'].map(
  (subject, at) =>
    ({ id: `e${at + 1}`, subject, sequence: String(at + 1).padStart(20, '0'), data: {} }) as ApiEvent,
)
const endpoint = {
  receiver: 'r',
  id: 'ep_1',
  secret,
  maxConcurrency: 1,
  order: 'issuer' as const,
  owed: events,
}

/** A request with that event, which came and was answered then. */
function receipt(number: number, came: number, parts: Partial<Receipt> = {}): Receipt {
  const event = events[number - 1] ?? { id: 'e9', sequence: '9'.padStart(20, '0'), data: {} }
  const body = JSON.stringify(event)
  const id = webhookIdOf('ep_1', event)
  const timestampSeconds = Math.floor(Date.now() / 1000)
  const key = signingKey(secret)
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures(
      { id, timestampSeconds, body: Buffer.from(body) },
      key === null ? [] : [key],
    ),
  }
  return {
    receiver: 'r',
    webhookId: id,
    headers,
    body,
    life: 0,
    came,
    answered: came + 1,
    end: 'taken',
    ...parts,
  }
}

const judge = (receipts: Receipt[], kills = 0) => judgeWebhooks([endpoint], receipts, kills)
const whole = [receipt(1, 1), receipt(2, 3), receipt(3, 5)]

test('no violation is found if all promises are kept, also if a kill explains a repeat or a refusal a retry', () => {
  expect(judge(whole)).toMatchObject({ owed: 3, received: 3, missing: 0, repeats: 0, broken: [] })
  const cut = receipt(1, 0, { end: 'cut', answered: null })
  expect(judge([cut, ...whole], 1)).toMatchObject({ repeats: 1, worstShare: 1, broken: [] })
  expect(judge([receipt(1, 0, { end: 'refused' }), ...whole])).toMatchObject({ repeats: 0, broken: [] })
})

test.each<[string, Receipt[], string]>([
  ['an event that no request brought', whole.slice(0, 2), '1 events are missing'],
  [
    'one that was never taken',
    [...whole.slice(0, 2), receipt(3, 5, { end: 'refused' })],
    '1 events are missing',
  ],
  ['more repetitions than one kill explains', [receipt(2, -4), receipt(1, -2), ...whole], '2 repeats of'],
  [
    'a repetition that no kill explains',
    [...whole, receipt(2, 7)],
    '1 repeats of what went out between kills 0',
  ],
  [
    'an id that is not its event’s',
    [...whole.slice(1), receipt(1, 0, { webhookId: 'msg_x' })],
    'no event of its filter',
  ],
  [
    'a signature that is not the secret’s',
    [receipt(1, 1, { body: '{"sequence":"00000000000000000001"}' }), ...whole.slice(1)],
    'wrong signature',
  ],
  ['an overtaking among one issuer’s', [receipt(3, 0), receipt(1, 2), receipt(2, 4)], '1 overtook'],
])('a violation is reported: %s', (_what, receipts, said) => {
  const kills = said.startsWith('2') ? 1 : 0
  expect(judge(receipts, kills).broken.join()).toContain(said)
})
