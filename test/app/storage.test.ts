import { expect, test } from 'vitest'
import { startContext } from '../../src/app/context.ts'
import { openStorage } from '../../src/app/storage.ts'
import { eventsBetween } from '../../src/archive/reading/query.ts'
import { systemChance, systemClock } from '../../src/lifecycle/clock.ts'
import { createReleaseStack } from '../../src/lifecycle/release-stack.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { createStore } from '../support/store.ts'

/** What a node with these roles keeps in memory of 150 new events. */
async function heldBy(roles: string): Promise<number> {
  using directory = temporaryDirectory()
  const settings = loadSettings({
    BRIDGE_ROLES: roles,
    BRIDGE_UPSTREAM_URL: 'http://127.0.0.1:9/v2',
    BRIDGE_UPSTREAM_KEY: 'a-key-of-this-test',
    BRIDGE_ADMIN_TOKEN: 'an admin token of this test',
    BRIDGE_SECRET_KEY: 'a secret key of this test, long enough',
    BRIDGE_DATA_DIR: directory.path,
    BRIDGE_LOG_LEVEL: 'silent',
  })
  const stack = createReleaseStack()
  const stopping = AbortSignal.abort()
  const parts = { clock: systemClock, chance: systemChance }
  const context = await startContext(settings, parts, { stack, stopping })
  const { recentEvents } = await openStorage(context, () => undefined)
  recentEvents.push(eventsBetween(createStore(systemClock, 150).archive, 0, 150))
  await stack.release()
  return recentEvents.latest - recentEvents.first + 1
}

test('a node on which nobody reads keeps only a few events in memory', async () => {
  expect(await heldBy('poller')).toBe(100)
})

test.each(['api', 'feed', 'webhooks'])('a node with the role %s keeps many', async (role) => {
  expect(await heldBy(`poller,${role}`)).toBe(150)
})
