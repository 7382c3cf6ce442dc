import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const LIFECYCLE = join(import.meta.dirname, '../../src/lifecycle')

/** Lets the heap grow by 100 MB and more, then replaces what it keeps piece by piece; prints what was resident, MB. */
const PROGRAM = `
  const { holdHeap } = await import(process.argv[1] + '/young-generation.ts')
  const { returnMemory } = await import(process.argv[1] + '/return-memory.ts')
  holdHeap()
  // Under load V8 may collect the whole heap every 350 ms here, which is no calm of half a second.
  if (process.argv[2] === 'returning') returnMemory(100)
  const make = (count) => Array.from({ length: count }, (_, at) => ({ at, text: 'item ' + at }))
  const kept = make(100_000)
  const resident = () => process.memoryUsage().rss / 1048576
  let burst = []
  for (let turn = 0; turn < 8; turn += 1) {
    burst.push(make(200_000))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const most = resident()
  burst = null
  let least = most
  // V8 collects the whole heap whenever 30 % of it are new and old enough: on a busy machine that takes a while.
  const turns = process.argv[2] === 'returning' ? 1_500 : 300
  for (let turn = 0; turn < turns && least > most - 80; turn += 1) {
    kept.splice((turn * 20_000) % 100_000, 20_000, ...make(20_000))
    await new Promise((resolve) => setTimeout(resolve, 20))
    least = Math.min(least, resident())
  }
  console.log(JSON.stringify({ most, least, kept: kept.length }))
`

async function memory(how: string): Promise<{ most: number; least: number }> {
  const args = ['--input-type=module', '--eval', PROGRAM, LIFECYCLE, how]
  return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout)
}

test('after a burst its memory goes back to the system, which V8 would keep', async () => {
  const [returning, usual] = [await memory('returning'), await memory('usual')]
  expect(returning.least).toBeLessThan(returning.most - 60)
  expect(returning.least).toBeLessThan(usual.least - 40)
}, 120_000)
