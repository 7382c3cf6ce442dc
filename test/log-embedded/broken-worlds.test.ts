/**
 * Tests the embedded log with all that the poller asks of a log in worlds with crashes and lost answers. More worlds:
 * `npm run campaign -- --broken 50 --log embedded`.
 */
import { expect, it } from 'vitest'
import { logCaseNames, logCases } from '../support/worlds/real-log/log-cases.ts'
import { embeddedLog } from '../support/worlds/real-log/real-log.ts'
import { replay } from '../support/worlds/real-log/replay.ts'

it.each(logCaseNames)('keeps what the poller writes, as the simulated log does: %s', async (name) => {
  await using log = embeddedLog()
  expect((await replay(logCases[name](), log)).difference).toBeNull()
})
