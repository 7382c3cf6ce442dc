import { describe, expect, test } from 'vitest'
import type { ReplayCommand } from '../../../src/webhooks/commands/command-rows.ts'
import type { ReplayStanding } from '../../../src/webhooks/delivery-state/endpoint-cursors.ts'
import { type ApiServer, RESTING, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { EPOCH } from '../../support/store.ts'

const idOf = (number: number): string => `rp_00000000000000000000${number}`
const AT_MS = Date.UTC(2026, 5, 1, 6)
const RUNNING: ReplayStanding = {
  id: idOf(1),
  createdAtMs: AT_MS,
  from: 100,
  until: 300,
  position: 150,
  only: 'dead',
  count: 7,
}
const waiting = (parts: Partial<ReplayCommand> = {}): ReplayCommand => ({
  kind: 'replay',
  epoch: EPOCH,
  after: 0,
  until: 9,
  only: null,
  count: 9,
  atMs: AT_MS,
  ...parts,
})

/** An endpoint of which the delivering node reports these replays. */
async function replaying(...replays: ReplayStanding[]) {
  const api = await startApi({ count: 3, standingOf: () => ({ ...RESTING, replays }) })
  const { body } = await ask(api, TOKEN, '/v1/webhooks', 'POST', { url: 'https://hooks.example/in' })
  const path = `/v1/webhooks/${body.id}/replays`
  return { api, id: body.id as string, path }
}

const list = async (api: ApiServer, path: string) => (await ask(api, TOKEN, path)).body

describe('GET /v1/webhooks/{id}/replays', () => {
  test('lists those that run with their progress, and those that wait, the oldest first', async () => {
    const { api, id, path } = await replaying(RUNNING)
    await using _ = api
    await api.recovery.commands.put(id, idOf(2), waiting())
    await api.recovery.commands.put(id, idOf(3), waiting({ only: [2, 5], count: 2 }))
    const createdAt = new Date(AT_MS).toISOString()
    const unknown = { state: 'waiting', createdAt, after: 0, until: 9, position: null, progress: null }
    expect(await list(api, path)).toEqual({
      data: [
        {
          id: idOf(1),
          state: 'running',
          createdAt,
          only: 'dead',
          count: 7,
          after: 100,
          until: 300,
          position: 150,
          progress: 0.25,
        },
        { id: idOf(2), only: 'all', count: 9, ...unknown },
        { id: idOf(3), only: 'ids', count: 2, ...unknown },
      ],
      next: null,
    })
    const first = await list(api, `${path}?limit=2`)
    expect([first.data.length, (await list(api, `${path}?after=${first.next}`)).data.length]).toEqual([2, 1])
  })

  test('lists one that was begun once, and what an older version did not store as null', async () => {
    const { api, id, path } = await replaying({ ...RUNNING, from: null, count: null })
    await using _ = api
    await api.recovery.commands.put(id, RUNNING.id, waiting())
    const { data } = await list(api, path)
    expect(data).toEqual([
      expect.objectContaining({ state: 'running', count: null, after: null, progress: null, position: 150 }),
    ])
  })

  test('lists nothing of other endpoints, other commands and other tenants', async () => {
    const { api, id, path } = await replaying()
    await using _ = api
    await api.recovery.commands.put('ep_other', idOf(2), waiting())
    void api.recovery.commands.hasten(id)
    expect(await list(api, path)).toEqual({ data: [], next: null })
    const token = await tokenOf(api, 'another', ['webhooks:read', 'webhooks:replay'])
    expect((await ask(api, token, path)).status).toBe(404)
    expect((await ask(api, token, `${path}/${idOf(1)}`, 'DELETE')).status).toBe(404)
  })
})

test('until a node that delivers has said which replays run, lists say so, and only one that waits can be ended', async () => {
  await using api = await startApi({ count: 3, standingOf: () => null })
  const { body } = await ask(api, TOKEN, '/v1/webhooks', 'POST', { url: 'https://hooks.example/in' })
  const path = `/v1/webhooks/${body.id}/replays`
  await api.recovery.commands.put(body.id, idOf(2), waiting())
  const refusal = { status: 503, body: { code: 'unavailable', detail: expect.stringContaining('has said') } }
  expect(await ask(api, TOKEN, path)).toMatchObject(refusal)
  expect(await ask(api, TOKEN, `${path}/${idOf(1)}`, 'DELETE')).toMatchObject(refusal)
  const answered = ask(api, TOKEN, `${path}/${idOf(2)}`, 'DELETE')
  await until(() => api.recovery.commands.of(body.id).some(({ command }) => command.kind === 'cancel'))
  api.clock.advance(10_000)
  expect((await answered).status).toBe(202)
})

describe('DELETE /v1/webhooks/{id}/replays/{replayId}', () => {
  test('asks the delivering node and answers 204 when it has ended the replay', async () => {
    const { api, id, path } = await replaying(RUNNING)
    await using _ = api
    const answered = ask(api, TOKEN, `${path}/${RUNNING.id}`, 'DELETE')
    const asked = () => api.recovery.commands.of(id).find(({ command }) => command.kind === 'cancel')
    await until(() => asked() !== undefined)
    expect(asked()?.command).toMatchObject({ kind: 'cancel', replay: RUNNING.id })
    await api.recovery.commands.remove(asked()?.key ?? '')
    expect((await answered).status).toBe(204)
    expect(api.lines).toContainEqual(expect.objectContaining({ event: 'webhook.replay_cancel_requested' }))
  })

  test('answers 202 where nobody has in ten seconds, and keeps the request', async () => {
    const { api, id, path } = await replaying(RUNNING)
    await using _ = api
    const answered = ask(api, TOKEN, `${path}/${RUNNING.id}`, 'DELETE')
    await until(() => api.recovery.commands.of(id).length > 0)
    api.clock.advance(10_000)
    expect((await answered).status).toBe(202)
    expect(api.recovery.commands.of(id)).toHaveLength(1)
  })

  test('refuses replays that are not there, wrong scopes and parameters', async () => {
    const { api, path } = await replaying(RUNNING)
    await using _ = api
    const token = await tokenOf(api, 'default', ['webhooks:read'])
    expect((await ask(api, token, `${path}/${RUNNING.id}`, 'DELETE')).status).toBe(403)
    expect((await ask(api, TOKEN, `${path}/${idOf(9)}`, 'DELETE')).status).toBe(404)
    expect((await ask(api, TOKEN, `${path}/${RUNNING.id}?x=1`, 'DELETE')).status).toBe(400)
    expect((await ask(api, TOKEN, `${path}?after=x`)).status).toBe(400)
  })
})
