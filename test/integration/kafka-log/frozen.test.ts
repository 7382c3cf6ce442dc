/**
 * Tests a real process that is frozen after counting a unit and before sending the request, while another takes over.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { claimed } from '../../log/samples.ts'
import { eventually } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { answers, startScriptedUpstream } from '../../support/worlds/scripted-upstream.ts'

const brokers = (await sharedBrokers()) ?? []
const CHILD = join(import.meta.dirname, 'frozen-child.ts')
/** After a shorter freeze no other process can lead yet. */
const DOUBT_MS = 3_000
const logs = createLogKeeper()
afterEach(() => logs.closeAll())

describe.skipIf(brokers.length === 0)('a leader frozen between its spend and its request', () => {
  it('sends nothing once another has claimed, and the unit stays counted', async () => {
    const options = kafkaLogOptions(brokers)
    await using upstream = await startScriptedUpstream(answers(200, '{"data":[]}'))
    const argv = [CHILD, brokers.join(','), options.topics.prefix, upstream.url]
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      const said = once(createInterface({ input: child.stdout }), 'line')
      await eventually(() => readFileSync(`/proc/${child.pid}/stat`, 'utf8'), isStopped)
      const successor = await claimed(logs.open(options))
      await wait(DOUBT_MS + 100)
      child.kill('SIGCONT')
      expect(await said).toEqual([JSON.stringify({ failed: 'log_fenced' })])
      expect(upstream.requests).toHaveLength(0)
      expect([...successor.state.ledger.values()]).toEqual([{ poll: 1 }])
    } finally {
      child.kill('SIGKILL')
    }
  })
})

/** Linux lists a process's state after its name in brackets. */
function isStopped(stat: string): boolean {
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T')
}
