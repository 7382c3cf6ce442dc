/** Plays every fault of `live-faults.ts` under a real Prometheus with the shipped rules, their long waits shortened. */
import { expect, it } from 'vitest'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { liveFaults } from '../../support/monitoring/live-faults.ts'
import { playFaults } from '../../support/monitoring/play-faults.ts'
import { hasTool } from '../../support/tools.ts'

const runtime = await kafkaRuntime()

it.skipIf(runtime === null || !hasTool('prometheus', 'prometheus'))(
  'each fault fires its alerts within their time and no other, and they end once it is mended',
  async () => {
    if (runtime === null) return
    const lines: string[] = []
    const played = await playFaults(liveFaults, 'quick', runtime, (line) => lines.push(line))
    const wrong = played.flatMap((one) => one.wrong.map((sentence) => `${one.fault}: ${sentence}`))
    expect(wrong, lines.join('\n')).toEqual([])
    expect(played).toHaveLength(liveFaults.length)
  },
  600_000,
)
