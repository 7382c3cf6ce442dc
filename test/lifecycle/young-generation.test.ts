import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const MODULE = join(import.meta.dirname, '../../src/lifecycle/young-generation.ts')

/**
 * Makes much garbage of which a part survives, in turns of the event loop; then prints the median of the sizes it had, MB. The
 * largest has pages too that wait to be freed, on a busy machine more than the limit allows.
 */
const PROGRAM = `
  const { holdYoungGeneration, limitYoungGeneration } = await import(process.argv[1])
  const { getHeapSpaceStatistics } = await import('node:v8')
  const size = () => getHeapSpaceStatistics().find((one) => one.space_name === 'new_space').space_size / 1048576
  const churn = async (most = 100_000) => {
    const kept = []
    const seen = []
    for (let turn = 0; turn < 1500; turn += 1) {
      for (let count = 0; count < 1_000; count += 1) kept[(turn * 1_000 + count) % most] = { turn, count, more: [count] }
      seen.push(size())
      await new Promise((resolve) => setImmediate(resolve))
    }
    return seen.sort((one, other) => one - other)[750]
  }
  const sizes = {}
  if (process.argv[2] === 'limited') {
    holdYoungGeneration()
    sizes.held = await churn()
    let isBusy = false
    limitYoungGeneration(() => isBusy)
    sizes.limited = await churn()
    isBusy = true
  }
  for (let again = 0; again < 4; again += 1) sizes.most = await churn(1_000_000)
  console.log(JSON.stringify(sizes))
`

async function sizes(...args: string[]): Promise<{ held: number; limited: number; most: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    PROGRAM,
    MODULE,
    ...args,
  ])
  return JSON.parse(stdout)
}

test('the young generation keeps its first size, then grows to the limit, and further while there is work', async () => {
  const { held, limited, most } = await sizes('limited')
  expect(held).toBe(2)
  expect(limited).toBe(8)
  expect(most).toBe(32)
})

test('without a limit it grows further', async () => {
  expect((await sizes()).most).toBeGreaterThan(24)
})

/** Keeps 20 MB alive while old garbage comes and goes; prints the most that the heap had, MB. */
const AGEING = `
  const { holdHeap, holdYoungGeneration } = await import(process.argv[1])
  holdYoungGeneration()
  if (process.argv[2] === 'held') holdHeap()
  const kept = []
  let most = 0
  for (let turn = 0; turn < 1500; turn += 1) {
    for (let count = 0; count < 1_000; count += 1) kept[(turn * 1_000 + count) % 200_000] = { turn, count, more: [count] }
    most = Math.max(most, process.memoryUsage().heapTotal / 1048576)
    await new Promise((resolve) => setImmediate(resolve))
  }
  console.log(most)
`

test('a heap that is held stays smaller than V8 would let it grow', async () => {
  const most = async (how: string): Promise<number> => {
    const args = ['--input-type=module', '--eval', AGEING, MODULE, how]
    return Number((await promisify(execFile)(process.execPath, args)).stdout)
  }
  const [held, usual] = [await most('held'), await most('usual')]
  expect(held).toBeLessThan(usual * 0.85)
})
