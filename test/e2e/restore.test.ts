/** Tests a whole bridge whose backup is put back: readers, webhooks and the quota. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { bridgeEnv, runToEnd, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { type ApiEvent, eventually, getJson, pullAll } from '../support/http/api-client.ts'
import { heldClock } from '../support/time/held-clock.ts'
import { askEndpoints } from '../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../support/webhooks/webhook-receiver.ts'
import { owedOf, webhookIdOf } from '../support/webhooks/webhook-verdict.ts'
import { compare } from '../support/worlds/completeness.ts'

const settings = {
  BRIDGE_UPSTREAM_PLAN: 'advanced',
  BRIDGE_BACKFILL: 'PT1H',
  BRIDGE_WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
  BRIDGE_WEBHOOK_ALLOW_HTTP: 'true',
}

it.each(['bridge restore', 'a copied file'])(
  'readers and webhooks miss nothing after a backup was put back with %s',
  async (way) => {
    using directory = temporaryDirectory()
    using backups = temporaryDirectory()
    await using receiver = await startReceiver()
    // On a busy machine the flood would be over before the backup is taken.
    const market = heldClock()
    const sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 4 },
      { clock: market.clock },
    )
    try {
      const env = bridgeEnv(sandbox, directory.path, settings)
      const first = await startBridge(env)
      const { id: endpointId } = await askEndpoints(first.ready.http, 'POST', '', {
        url: receiver.url,
        since: '2000-01-01',
      })
      market.release()
      await eventually(
        () => pullAll(first.ready.http),
        ({ length }) => length > 50,
      )
      const backup = join(backups.path, 'one.db')
      const taken = await runToEnd(['backup', backup, '--json'], env)
      expect([taken.code, taken.stderr]).toEqual([0, ''])
      const { epoch, sequence } = JSON.parse(taken.stdout) as { epoch: string; sequence: number }
      const read = await eventually(
        () => pullAll(first.ready.http),
        ({ length }) => length > sequence + 100,
      )
      expect((await runToEnd(['restore', backup], env)).code).toBe(1)
      await first.stop('SIGKILL')

      if (way === 'bridge restore') {
        const restored = await runToEnd(['restore', backup, '--json'], env)
        expect([restored.code, JSON.parse(restored.stdout)]).toMatchObject([
          0,
          { restored: true, previousEpoch: epoch, sequence },
        ])
      } else {
        for (const suffix of ['', '-wal', '-shm'])
          rmSync(join(directory.path, `bridge.db${suffix}`), { force: true })
        cpSync(backup, join(directory.path, 'bridge.db'))
      }

      // Without a poller the log still ends where the backup does: the reader is ahead of it.
      const quiet = await startBridge({ ...env, BRIDGE_ROLES: 'api' })
      const { cursor = '' } = read.at(-1) ?? {}
      const told = await pageAfter(quiet.ready.http, cursor)
      expect(told.data[0]).toMatchObject({ type: 'bridge.gap.opened.v1', data: { cause: 'epoch' } })
      await quiet.stop()

      const second = await startBridge(env)
      const truth = () => sandbox.truth().items
      const events = await eventually(
        () => pullAll(second.ready.http),
        (all) => sandbox.finished() && compare(truth(), all).missing.length === 0,
        240_000,
      )
      const got = [...read, ...told.data]
      for (let page = told; page.data.length > 0; got.push(...page.data)) {
        page = await pageAfter(second.ready.http, page.cursor)
      }
      expect(compare(truth(), got).missing).toEqual([])
      const wanted = owedOf(events)
      await eventually(
        () => new Set(receiver.received.map(({ headers }) => String(headers['webhook-id']))),
        (ids) => wanted.every((event) => ids.has(webhookIdOf(endpointId, event))),
        120_000,
      )
      // Read before the status: a poll between the two would make upstream count more than the ledger.
      const { units } = sandbox.usage()
      const { quota } = await getJson<{ quota: { used: number } }>(`${second.ready.http}/v1/status`)
      // Fills of the flood take more than their usual share: 41 of 47 units were seen.
      if (way === 'bridge restore') expect(quota.used).toBeGreaterThan(units * 0.8)
      await second.stop()
    } finally {
      await sandbox.close()
    }
  },
  600_000,
)

/** What a reader gets after that cursor. */
const pageAfter = (base: string, cursor: string) =>
  getJson<{ data: ApiEvent[]; cursor: string }>(`${base}/v1/disclosures?limit=1000&after=${cursor}`)
