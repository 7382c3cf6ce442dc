import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'

const COLLECT = resolve(import.meta.dirname, 'collect-on-signal.ts')
/** Drops 32 MB, and then tells at each line that it reads how many MB of heap it uses. */
const PROGRAM = `
  let dropped = new Array(4_194_304).fill(0)
  dropped = null
  process.stdin.on('data', () => console.log(Math.round(process.memoryUsage().heapUsed / 1024 ** 2)))
`

test('a process that is asked for it collects its garbage', async () => {
  const child = spawn(process.execPath, ['--expose-gc', '--import', COLLECT, '-e', PROGRAM], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    const lines = createInterface(child.stdout)
    const heapMb = async (): Promise<number> => {
      child.stdin.write('\n')
      const [line] = await once(lines, 'line')
      return Number(line)
    }
    expect(await heapMb()).toBeGreaterThan(32)
    child.kill('SIGWINCH')
    await expect.poll(heapMb).toBeLessThan(16)
  } finally {
    child.kill('SIGKILL')
  }
})
