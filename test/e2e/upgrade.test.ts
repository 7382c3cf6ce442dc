/** Tests that the embedded store of an earlier build is continued by this one, and what the way back is. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openArchive } from '../../src/archive/store/archive.ts'
import { MINUTE_MS } from '../../src/core/durations.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  ADMIN_TOKEN,
  type BridgeProcess,
  bridgeEnv,
  readyLine,
  startBridge,
  startCommand,
  temporaryDirectory,
} from '../support/bridge-process.ts'
import { type ApiEvent, eventually, getJson, pullAll } from '../support/http/api-client.ts'
import { freePorts } from '../support/kafka/runtime/ports.ts'
import {
  type EarlierBuild,
  earlierBuild,
  earlierCommits,
  setLayout,
} from '../support/product/earlier-builds.ts'
import { listed, readUpTo } from '../support/product/market-reading.ts'
import { eventAt } from '../support/store.ts'
import { comeToRest, createReaders, startReaders } from '../support/streams/flood-readers.ts'
import { epochLog, judgeReaders } from '../support/streams/reader-verdict.ts'
import { askEndpoints, EVERY_EVENT, LOCAL_RECEIVERS, sequencesOf } from '../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../support/webhooks/webhook-receiver.ts'
import { compare } from '../support/worlds/completeness.ts'

const KEPT = { missing: 0, announced: 0, foreign: 0, disordered: 0, untold: 0, broken: [] }
const READERS = { seed: 5, readers: 8, cuts: 0, speed: 1 }
/** Events that take seconds to lay out. */
const LARGE = 40_000
/** Of the market's morning, at each step: less than two pages of items. */
const STEP_MS = 2 * MINUTE_MS

describe('an embedded store', () => {
  it.each([
    { commit: earlierCommits.last, turns: 4 },
    { commit: earlierCommits.beforeFolders, turns: 2 },
  ])(
    'of build $commit is continued by this build, and back: nothing is missing or twice',
    async ({ commit, turns }) => {
      using earlier = earlierBuild(commit)
      await using receiver = await startReceiver()
      const { sandbox, env, start } = await installation()
      const readers = createReaders(READERS, [`http://127.0.0.1:${env.BRIDGE_HTTP_PORT}`])
      onTestFinished(() => {
        for (const reader of readers) reader.stop()
      })
      const read: ApiEvent[] = []
      let bridge = await start(earlier)
      const { secret } = await askEndpoints(bridge.ready.http, 'POST', '', {
        url: receiver.url,
        filter: EVERY_EVENT,
      })
      await startReaders(readers)
      for (let turn = 1; turn <= turns; turn++) {
        sandbox.moveForward(STEP_MS)
        await readUpTo(sandbox, bridge.ready.http, read)
        if (turn === turns) break
        expect(await bridge.stop()).toBe(0)
        // What comes while no build runs is found as well.
        sandbox.moveForward(STEP_MS)
        bridge = await start(turn % 2 === 0 ? earlier : null)
      }

      const log = epochLog(await pullAll(bridge.ready.http))
      const { twice, holes } = compare([], read)
      expect({ twice, holes }).toEqual({ twice: [], holes: [] })
      expect(log.events.length).toBeGreaterThan(turns * 50)
      await comeToRest(readers, log)
      for (const reader of readers) reader.stop()
      expect(judgeReaders(readers, [log])).toMatchObject({ ...KEPT, repeats: 0 })
      const sequences = await eventually(
        () => sequencesOf(receiver.received),
        (got) => log.events.every(({ sequence }) => got.includes(sequence)),
      )
      expect(new Set(sequences).size).toBe(sequences.length)
      receiver.verify(secret)
      expect(await bridge.stop()).toBe(0)
    },
    240_000,
  )

  it('of an older layout is laid out anew with its events, and the older build then refuses it', async () => {
    using earlier = earlierBuild(earlierCommits.olderLayout)
    const { sandbox, env, start } = await installation()
    const before = await start(earlier)
    const read: ApiEvent[] = []
    sandbox.moveForward(STEP_MS)
    await readUpTo(sandbox, before.ready.http, read)
    expect(await before.stop()).toBe(0)

    const after = await start(null)
    sandbox.moveForward(STEP_MS)
    await readUpTo(sandbox, after.ready.http, read)
    expect((await pullAll(after.ready.http)).slice(0, read.length)).toEqual(read)
    // Of the tables that were rebuilt.
    const { meta } = await getJson<{ meta: { paging: { itemTotal: number } } }>(
      `${after.ready.http}/v2/disclosures/sources/rns/items?pageNumber=1&pageSize=1`,
      { 'x-api-key': ADMIN_TOKEN },
    )
    expect(meta.paging.itemTotal).toBe(new Set(read.map(({ data }) => data.guid)).size)
    expect(await after.stop()).toBe(0)
    expect(await refusal(earlier, env)).toContain('the store has version 3')
  }, 120_000)

  it('of an older layout that is large is seen to live while it is laid out anew', async () => {
    using directory = temporaryDirectory()
    const path = join(directory.path, 'bridge.db')
    const archive = openArchive({ path, nativeKind: 'Native', durable: false })
    for (let sequence = 1; sequence <= LARGE; sequence += 1000)
      archive.append(Array.from({ length: 1000 }, (_, at) => eventAt(sequence + at)))
    archive.close()
    setLayout(path, 2)
    const [port] = await freePorts(1)
    const extra = { BRIDGE_ROLES: 'api', BRIDGE_OPS_PORT: String(port) }
    const env = bridgeEnv({ url: 'http://127.0.0.1:9/v2', key: 'none' }, directory.path, extra)
    const command = startCommand(['run'], env)
    onTestFinished(async () => void (await command.stop('SIGKILL')))
    const ready = readyLine(command).then(() => 'ready')
    const ops = `http://127.0.0.1:${port}`
    const [alive, unready] = await eventually(
      // Refused before the listener is open.
      () => Promise.all([fetch(`${ops}/healthz`), fetch(`${ops}/readyz`)]).catch(() => []),
      ({ length }) => length > 0,
    )
    expect([alive?.status, unready?.status]).toEqual([200, 503])
    expect(await unready?.json()).toEqual({ ready: false, checks: { log: false, copy: 0, running: true } })
    expect(command.stdout()).toBe('')
    expect(await ready).toBe('ready')
    await eventually(
      () => fetch(`${ops}/readyz`),
      ({ status }) => status === 200,
    )
    expect(await command.stop()).toBe(0)
  }, 120_000)

  it('of a later layout is refused by an earlier build, which goes on from a backup in a new epoch', async () => {
    using earlier = earlierBuild(earlierCommits.last)
    using backups = temporaryDirectory()
    await using receiver = await startReceiver()
    const { sandbox, env, start } = await installation()
    const before = await start(earlier)
    await askEndpoints(before.ready.http, 'POST', '', { url: receiver.url, filter: EVERY_EVENT })
    const read: ApiEvent[] = []
    sandbox.moveForward(STEP_MS)
    await readUpTo(sandbox, before.ready.http, read)
    expect(await before.stop()).toBe(0)
    cpSync(env.BRIDGE_DATA_DIR ?? '', backups.path, { recursive: true })

    // The next layout, as a later build would leave it.
    const upgraded = await start(null)
    sandbox.moveForward(STEP_MS)
    await readUpTo(sandbox, upgraded.ready.http, read)
    expect(await upgraded.stop()).toBe(0)
    setLayout(join(env.BRIDGE_DATA_DIR ?? '', 'bridge.db'), 4)
    expect(await refusal(earlier, env)).toContain('the store has version 4, this program reads up to 3')

    const restore = startCommand(['restore', backups.path, '--json'], env, earlier.main)
    expect([await restore.ended, restore.stderr()]).toEqual([0, expect.anything()])
    const again = await start(earlier)
    const { cursor = '' } = read.at(-1) ?? {}
    const page = await pullAll(again.ready.http, '', cursor)
    expect(page[0]).toMatchObject({ type: 'bridge.gap.opened.v1', data: { cause: 'epoch' } })
    const truth = listed(sandbox)
    const events = await eventually(
      () => pullAll(again.ready.http),
      (all) => compare(truth, all).missing.length === 0,
      60_000,
    )
    const { twice, holes } = compare(truth, events)
    expect({ twice, holes }).toEqual({ twice: [], holes: [] })
    await eventually(
      () => new Set(receiver.received.map(({ body }) => (JSON.parse(body) as ApiEvent).id)),
      (got) => events.every(({ id }) => got.has(id)),
    )
    expect(await again.stop()).toBe(0)
  }, 120_000)
})

/** A market, and a data directory that one build after another runs on, at one address. */
async function installation() {
  const directory = temporaryDirectory()
  const sandbox = await startSandbox(
    { scenario: 'normal', plan: 'advanced', weeklyQuota: 1_000_000, seed: 4 },
    { clock: systemClock },
  )
  const [port] = await freePorts(1)
  const env = bridgeEnv(sandbox, directory.path, {
    ...LOCAL_RECEIVERS,
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    BRIDGE_BACKFILL: 'PT1H',
    // On a busy machine, too, no attempt is cut: it would be repeated.
    BRIDGE_DRAIN_TIMEOUT: 'PT20S',
    BRIDGE_HTTP_PORT: String(port),
  })
  let running: BridgeProcess | null = null
  onTestFinished(async () => {
    await running?.stop('SIGKILL')
    await sandbox.close()
    directory[Symbol.dispose]()
  })
  /** null: this build. */
  const start = async (build: EarlierBuild | null): Promise<BridgeProcess> => {
    running = await startBridge(env, ['run'], build?.main)
    return running
  }
  return { sandbox, env, start }
}

/** What a build says that does not start. */
async function refusal(build: EarlierBuild, env: Record<string, string>): Promise<string> {
  const command = startCommand(['run'], env, build.main)
  expect(await command.ended).not.toBe(0)
  return command.stderr()
}
