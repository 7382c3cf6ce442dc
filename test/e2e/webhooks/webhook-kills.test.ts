import { expect, it } from 'vitest'
import { webhookKillRun } from '../../campaign/webhook-kills.ts'

it('delivers everything through five kill -9 inside bursts; repeats, order, ids and signatures hold', async () => {
  const run = await webhookKillRun({ seed: 1, kills: 5, scenario: 'morning-short', kafka: null, nodes: 1 })
  expect(run).toMatchObject({ missing: 0, broken: [] })
  expect(run.events).toBeGreaterThan(700)
}, 600_000)
