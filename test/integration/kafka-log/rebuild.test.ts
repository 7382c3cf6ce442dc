/** Tests a node with an empty disk beside a long log, until its replica is complete. */
import { afterEach, describe, expect, it } from 'vitest'
import { claimed, sampleEvents } from '../../log/samples.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { bearer, getJson } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'

const brokers = (await sharedBrokers()) ?? []
const logs = createLogKeeper()
afterEach(() => logs.closeAll())

const EVENTS = 20_000
const COMMIT = 1_000
const NO_UPSTREAM = { url: 'http://127.0.0.1:9/v2', key: 'none' }

interface Look {
  ready: boolean
  copy: number | boolean
  filled: number
  lagEvents: number
  sequence: number
  read: { status: number; detail?: string; data?: unknown[] }
}

describe.skipIf(brokers.length === 0)('a node that fills its replica', () => {
  it('reports its progress, serves no reads from a part of the log, and then serves all of it', async () => {
    const options = kafkaLogOptions(brokers)
    const writer = await claimed(logs.open(options))
    for (let first = 1; first <= EVENTS; first += COMMIT)
      await writer.commit({ events: sampleEvents(first, first + COMMIT - 1) })
    using directory = temporaryDirectory()
    const bridge = await startBridge(
      bridgeEnv(NO_UPSTREAM, directory.path, {
        BRIDGE_ROLES: 'api,feed',
        BRIDGE_KAFKA_BROKERS: brokers.join(','),
        BRIDGE_TOPIC_PREFIX: options.topics.prefix,
      }),
    )
    const looks: Look[] = []
    do looks.push(await lookAt(bridge))
    while (looks.at(-1)?.ready === false)
    expect(await bridge.stop()).toBe(0)

    const filling = looks.filter(({ filled }) => filled > 0 && filled < 1)
    expect(filling.length).toBeGreaterThan(0)
    for (const { ready, sequence, lagEvents, read } of filling) {
      expect([ready, sequence + lagEvents]).toEqual([false, EVENTS])
      // The replica continues to fill between these requests.
      if (read.status === 503) expect(read.detail).toMatch(/\d+ % done, event \d+ of 20000$/)
    }
    expect(filling.some(({ copy }) => typeof copy === 'number' && copy > 0 && copy < 1)).toBe(true)
    const shares = looks.map(({ filled }) => filled)
    expect(shares).toEqual(shares.toSorted((one, other) => one - other))
    const partial = looks.filter(({ read }) => read.status !== 503 && read.data?.length !== 1)
    expect(partial).toEqual([])
    expect(looks.at(-1)).toMatchObject({ copy: true, filled: 1, sequence: EVENTS, lagEvents: 0 })
    expect(looks.at(-1)?.read).toMatchObject({ status: 200 })
  })
})

/** Requests in this order: readiness, status, and the last event by a filter that matches it alone. */
async function lookAt({ ready: { http, ops } }: BridgeProcess): Promise<Look> {
  const readiness = (await (await fetch(`${ops}/readyz`)).json()) as {
    ready: boolean
    checks: { copy: number | boolean }
  }
  const { copy } = await getJson<{ copy: { filled: number; lagEvents: number; sequence: number } }>(
    `${http}/v1/status`,
  )
  const headers = { ...bearer, 'content-type': 'application/json' }
  const body = JSON.stringify({ filter: { q: `item ${EVENTS} ` }, last: 10 })
  const response = await fetch(`${http}/v1/filters/test`, { method: 'POST', headers, body })
  const read = { status: response.status, ...((await response.json()) as object) }
  return { ready: readiness.ready, copy: readiness.checks.copy, ...copy, read }
}
