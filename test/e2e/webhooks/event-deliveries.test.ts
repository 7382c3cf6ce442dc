/** Tests that a running bridge says what became of one event at each endpoint, also where no node delivers. */
import { expect, test } from 'vitest'
import { type BridgeProcess, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually, getJson } from '../../support/http/api-client.ts'
import { eventAt } from '../../support/store.ts'
import { startWithoutUpstream, storeEvents } from '../../support/webhooks/bridge-over-events.ts'
import { askEndpoints } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

interface Shown {
  endpointId: string
  state: string | null
  attempts: number
  why: { reason: string; members: string[] } | null
}

/** What became of the event at 20, which has the category FR, by endpoint. */
async function shownBy({ ready }: BridgeProcess): Promise<Record<string, string>> {
  const path = `/v1/disclosures/${encodeURIComponent(eventAt(20).id)}/deliveries`
  const { data } = await getJson<{ data: Shown[] }>(`${ready.http}${path}`)
  return Object.fromEntries(
    data.map(({ endpointId, state, why }) => [
      endpointId,
      [state, why?.reason, ...(why?.members ?? [])].join(' '),
    ]),
  )
}

test('what became of an event is said for each endpoint, before and after the bridge stops delivering', async () => {
  using directory = temporaryDirectory()
  await using well = await startReceiver()
  await using failing = await startReceiver((response) => response.writeHead(500).end())
  await using slow = await startReceiver(() => undefined)
  await storeEvents(directory.path, 30)
  let bridge = await startWithoutUpstream(directory.path)
  try {
    const create = async (parts: object, { url } = well) =>
      (await askEndpoints(bridge.ready.http, 'POST', '', { url, since: '2000-01-01', ...parts })).id
    const delivered = await create({ filter: { fcaCategories: ['FR'] } })
    const failed = await create({ filter: { fcaCategories: ['FR'] } }, failing)
    const behind = await create({ maxConcurrency: 1 }, slow)
    const left = await create({ filter: { fcaCategories: ['NAV'] } })
    const late = await create({ since: undefined })
    const paused = await create({ since: undefined })
    await askEndpoints(bridge.ready.http, 'PATCH', `/${paused}`, { status: 'paused' })
    const said = {
      [delivered]: 'delivered ',
      [failed]: 'pending ',
      [left]: ' filter fcaCategories',
      [late]: ' before_start',
      [paused]: ' before_start',
    }
    await eventually(
      () => shownBy(bridge),
      (shown) =>
        JSON.stringify(Object.entries(shown).sort()) ===
        JSON.stringify(Object.entries({ ...said, [behind]: 'pending not_read' }).sort()),
    )
    await askEndpoints(bridge.ready.http, 'PATCH', `/${behind}`, { status: 'paused' })
    expect((await shownBy(bridge))[behind]).toBe('pending paused')
    await bridge.stop()
    bridge = await startWithoutUpstream(directory.path, { BRIDGE_ROLES: 'api' })
    // Of an endpoint that is a minute old it is no longer known.
    const waits = expect.stringMatching(/^(pending)? paused$/)
    expect(await shownBy(bridge)).toEqual({ ...said, [behind]: waits })
  } finally {
    await bridge.stop('SIGKILL')
  }
}, 60_000)
