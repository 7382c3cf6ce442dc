/** Tests shards over a real consumer group: how they are divided when processes start, stop and crash. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import type { Shard } from '../../../src/log/shards.ts'
import { SESSION_MS } from '../../../src/log-kafka/group/group-member.ts'
import { beginOwning, type Owner, putRow, type Row } from '../../log/owning.ts'
import { eventually } from '../../support/http/api-client.ts'
import { uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'

const brokers = await sharedBrokers()
const CHILD = join(import.meta.dirname, 'shard-child.ts')
const COUNT = 8

describe.skipIf(brokers === null)('shards of several processes', () => {
  const logs = createLogKeeper()
  const children: ChildProcess[] = []
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    await logs.closeAll()
  })

  const begin = (prefix: string): Owner => {
    return beginOwning(logs.open(kafkaLogOptions(brokers ?? [], prefix)), 'words', COUNT)
  }
  /** Waits until each of them owns the expected number. */
  const share = (owners: readonly Owner[], sizes: readonly number[]): Promise<unknown> =>
    eventually(
      async () => owners.map(({ held }) => held.size).sort(),
      (held) => String(held) === String(sizes.toSorted()),
    )
  const heldBy = (owners: readonly Owner[]): number[] => owners.flatMap(({ held }) => [...held.keys()]).sort()
  const all = Array.from({ length: COUNT }, (_, shard) => shard)

  it('are assigned evenly, and those that keep their owner are processed without a break', async () => {
    const prefix = uniqueName('shards')
    const first = begin(prefix)
    await first.holds(COUNT)
    for (const [number, shard] of first.held) await putRow(shard, 'first', number)
    const before = new Map(first.held)
    const second = begin(prefix)
    await share([first, second], [4, 4])
    const third = begin(prefix)
    await share([first, second, third], [3, 3, 2])
    expect(heldBy([first, second, third])).toEqual(all)
    for (const [number, shard] of first.held) expect(shard).toBe(before.get(number))
    expect(first.came).toHaveLength(COUNT)
    for (const { number, rows } of [...second.came, ...third.came]) expect(rows.get('first')).toBe(number)
    await second.stop()
    await share([first, third], [4, 4])
    expect(heldBy([first, third])).toEqual(all)
    await Promise.all([first.stop(), third.stop()])
  })

  it('are handed over at once by a process that stops or closes its log, with all its rows', async () => {
    const prefix = uniqueName('shards')
    const [stopping, closing] = [
      logs.open(kafkaLogOptions(brokers ?? [], prefix)),
      logs.open(kafkaLogOptions(brokers ?? [], prefix)),
    ]
    const first = beginOwning(stopping, 'words', COUNT)
    await first.holds(COUNT)
    const second = beginOwning(closing, 'words', COUNT)
    await share([first, second], [4, 4])
    const shards: Shard<Row>[] = [...first.held.values()]
    await Promise.all(shards.map((shard) => putRow(shard, 'last', 1)))
    const startedMs = performance.now()
    await first.stop()
    await second.holds(COUNT)
    // The shards of a process that did not leave would move only after a session timeout.
    expect(performance.now() - startedMs).toBeLessThan(SESSION_MS)
    for (const { number } of shards) expect(second.held.get(number)?.rows.get('last')).toBe(1)
    const third = begin(prefix)
    await share([second, third], [4, 4])
    await closing.close()
    await second.ended
    await third.holds(COUNT)
    expect(heldBy([third])).toEqual(all)
    await third.stop()
  })

  it('of a killed process move to another, with every acknowledged row', async () => {
    const prefix = uniqueName('shards')
    const child = spawn(process.execPath, [CHILD, (brokers ?? []).join(','), prefix, String(COUNT)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    const said = new Map<number, number>()
    let lines = 0
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { shard, row } = JSON.parse(line) as { shard: number; row: number }
      said.set(shard, row)
      lines++
    })
    const more = async (count: number): Promise<void> => {
      const before = lines
      await eventually(
        () => lines,
        (now) => now >= before + count,
      )
    }
    await eventually(
      () => said.size,
      (shards) => shards === COUNT,
    )
    const survivor = begin(prefix)
    await survivor.holds(COUNT / 2)
    await more(50)
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
    await survivor.holds(COUNT)
    expect(said.size).toBe(COUNT)
    for (const [number, { rows }] of survivor.held) {
      expect(Number(rows.get('row'))).toBeGreaterThanOrEqual(said.get(number) ?? 0)
      expect(Number(rows.get('row'))).toBeLessThanOrEqual((said.get(number) ?? 0) + 1)
    }
    await survivor.stop()
  })
})
