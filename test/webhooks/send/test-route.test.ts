import { Webhook } from 'standardwebhooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { newSecret } from '../../../src/core/signature.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { newId } from '../../../src/registry/ids.ts'
import { addressRules } from '../../../src/webhooks/address/rules.ts'
import { createSender } from '../../../src/webhooks/send/sender.ts'
import { startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { metric } from '../../support/metric.ts'
import { wantedEndpoint } from '../../support/webhooks/endpoints.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

/** An API that sends over real sockets, and an endpoint of the tenant `desk` at that address. */
async function testing(
  url: string,
  parts: Parameters<typeof wantedEndpoint>[0] = {},
  allowNets = ['127.0.0.0/8'],
) {
  const rules = addressRules({ allowNets, allowHttp: true, ports: [443] })
  const sender = createSender({ rules, proxyUrl: null, clock: systemClock, mostConnections: 100 })
  onTestFinished(sender.close)
  const api = await startApi({ attempt: sender.attempt })
  const secret = newSecret()
  const id = newId('ep', 0)
  const secrets = [{ wrapped: api.secrets.wrap(secret, id), untilMs: null }]
  await api.endpoints.create(wantedEndpoint({ id, url, secrets, ...parts }))
  const token = await tokenOf(api, 'desk')
  return { api, id, secret, token, send: () => ask(api, token, `/v1/webhooks/${id}/test`, 'POST') }
}

describe('POST /v1/webhooks/{id}/test', () => {
  test('sends one signed event marked as a test, and returns the outcome', async () => {
    await using receiver = await startReceiver()
    const { api, id, secret, send } = await testing(receiver.url, { headers: { 'x-key': 'k' } })
    await using _ = api
    const { status, body } = await send()
    const answered = { status: 204, outcome: 'ok', phase: 'body', response: null }
    expect([status, body]).toEqual([
      200,
      { webhookId: expect.stringMatching(/^msg_/), durationMs: expect.any(Number), ...answered },
    ])
    const [received] = receiver.received
    const { 'webhook-id': sentId = '', 'webhook-timestamp': seconds, ...headers } = received?.headers ?? {}
    const signed = new Webhook(secret).sign(
      String(sentId),
      new Date(Number(seconds) * 1000),
      received?.body ?? '',
    )
    expect([sentId, headers['webhook-signature'], headers['x-key']]).toEqual([body.webhookId, signed, 'k'])
    expect(JSON.parse(received?.body ?? '')).toMatchObject({
      specversion: '1.0',
      source: '/bridge',
      type: 'webhook.test.v1',
      subject: id,
      data: { endpointId: id },
    })
    expect(api.attempted).toMatchObject([{ attempt: 1, verdict: { next: 'delivered' } }])
    expect(await metric(api, 'webhook_attempts_total{outcome="ok"}')).toBe(1)
    expect(api.lines.find(({ event: name }) => name === 'webhook.tested')?.fields).toMatchObject({
      endpointId: id,
      tenant: 'desk',
      outcome: 'ok',
    })
    expect((await send()).body.webhookId).not.toBe(body.webhookId)
  })

  test.each([
    ['published', 'disclosure.published.v1', /^test_\w+$/],
    ['amended', 'disclosure.amended.v1', /^test_\w+#2$/],
    ['gap', 'bridge.gap.opened.v1', /^gap:test_\w+:opened$/],
  ])('with type=%s sends a synthetic event of the type %s', async (kind, type, id) => {
    await using receiver = await startReceiver()
    const { api, id: endpointId, token } = await testing(receiver.url)
    await using _ = api
    const { status } = await ask(api, token, `/v1/webhooks/${endpointId}/test?type=${kind}`, 'POST')
    expect([status, JSON.parse(receiver.received[0]?.body ?? '')]).toMatchObject([
      200,
      { type, id: expect.stringMatching(id), sequence: '0'.repeat(20), epoch: '00000000' },
    ])
    const wrong = await ask(api, token, `/v1/webhooks/${endpointId}/test?type=${kind}x`, 'POST')
    expect([wrong.status, receiver.received.length]).toEqual([400, 1])
  })

  test('returns a failure with the beginning of the response, attempts once and changes nothing, 410 included', async () => {
    await using receiver = await startReceiver((response) => response.writeHead(410).end('moved away'))
    const { api, id, send } = await testing(receiver.url)
    await using _ = api
    const { status, body } = await send()
    expect([status, body]).toMatchObject([200, { status: 410, outcome: 'gone', response: 'moved away' }])
    expect([receiver.received.length, api.endpoints.get(id)?.status]).toEqual([1, 'active'])
  })

  test.each(['paused', 'disabled'] as const)('reaches an endpoint that is %s', async (status) => {
    await using receiver = await startReceiver()
    const { api, send } = await testing(receiver.url, { status })
    await using _ = api
    expect((await send()).body.outcome).toBe('ok')
  })

  test('refuses targets that deliveries refuse', async () => {
    await using receiver = await startReceiver()
    const { api, send } = await testing(receiver.url, {}, [])
    await using _ = api
    expect((await send()).body).toMatchObject({ status: null, outcome: 'blocked', response: null })
    expect(receiver.received).toEqual([])
  })

  test('tells the log, and not the tenant, whether a name exists that leads to a refused address', async () => {
    const ends = (['dns', 'blocked_name'] as const).map((fault) => ({ kind: 'failed', fault }) as const)
    const report = { phase: 'dns', startedMs: 0, durationMs: 1, response: null, detail: null } as const
    await using api = await startApi({
      attempt: async () => ({ ...report, end: ends.shift() ?? { kind: 'aborted' } }),
    })
    const id = newId('ep', 0)
    const secrets = [{ wrapped: api.secrets.wrap(newSecret(), id), untilMs: null }]
    await api.endpoints.create(wantedEndpoint({ id, secrets }))
    const token = await tokenOf(api, 'desk')
    const shown = async () => {
      const { webhookId: _, ...rest } = (await ask(api, token, `/v1/webhooks/${id}/test`, 'POST')).body
      return rest
    }
    expect(await shown()).toEqual(await shown())
    const logged = api.lines.filter(({ event: name }) => name === 'webhook.tested')
    expect(logged.map(({ fields }) => fields.outcome)).toEqual(['dns', 'blocked'])
    expect(await metric(api, 'webhook_attempts_total{outcome="blocked"}')).toBe(1)
  })

  test('runs once at a time per endpoint', async () => {
    const answers: (() => void)[] = []
    await using receiver = await startReceiver((response) => {
      answers.push(() => response.writeHead(204).end())
    })
    const { api, send } = await testing(receiver.url)
    await using _ = api
    const first = send()
    await until(() => answers.length === 1)
    const refused = await send()
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      429,
      'too_many',
      '5',
    ])
    answers[0]?.()
    expect((await first).status).toBe(200)
    expect(receiver.received).toHaveLength(1)
  })

  test('tests of one tenant never take the places of another', async () => {
    const answers: (() => void)[] = []
    await using receiver = await startReceiver((response) => {
      answers.push(() => response.writeHead(204).end())
    })
    const { api, send } = await testing(receiver.url)
    await using _ = api
    const evil = await tokenOf(api, 'evil')
    const tests = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const id = newId('ep', 0)
        const secrets = [{ wrapped: api.secrets.wrap(newSecret(), id), untilMs: null }]
        await api.endpoints.create(wantedEndpoint({ id, tenant: 'evil', url: receiver.url, secrets }))
        return () => ask(api, evil, `/v1/webhooks/${id}/test`, 'POST')
      }),
    )
    let refused = 0
    const others = tests.map(async (test) => {
      const { status } = await test()
      if (status === 429) refused += 1
      return status
    })
    await until(() => answers.length === 8 && refused === 32)
    const own = send()
    await until(() => answers.length === 9)
    for (const answer of answers) answer()
    expect((await own).body.outcome).toBe('ok')
    expect((await Promise.all(others)).filter((status) => status === 200)).toHaveLength(8)
  })

  test('answers 503 if no key opens the secret, and 403 without the scope', async () => {
    const { api, id, send } = await testing('https://hooks.example/in', {
      secrets: [{ wrapped: 'of another key', untilMs: null }],
    })
    await using _ = api
    const { status, body } = await send()
    expect([status, body.detail]).toEqual([503, expect.stringMatching(/rotate/)])
    const reader = await tokenOf(api, 'desk', ['webhooks:read'])
    expect((await ask(api, reader, `/v1/webhooks/${id}/test`, 'POST')).status).toBe(403)
    expect((await ask(api, TOKEN, `/v1/webhooks/${id}/test`, 'POST', [])).body.code).toBe('body_unexpected')
  })
})
