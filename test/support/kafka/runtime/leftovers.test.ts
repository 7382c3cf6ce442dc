import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, expect, test, vi } from 'vitest'
import { clearLeftovers, startOf } from './leftovers.ts'

const MODULE = join(import.meta.dirname, 'leftovers.ts')
/** A run that starts a process, as it would a broker, says what it made, and waits. */
const RUN = `
  import { spawn } from 'node:child_process'
  import { makeBrokerFolder, noteProcess } from ${JSON.stringify(MODULE)}
  const folder = makeBrokerFolder()
  const broker = spawn('sleep', ['600'], { stdio: 'ignore' })
  noteProcess(folder, 'node-1', broker.pid)
  process.stdout.write(JSON.stringify({ folder, pid: broker.pid }) + '\\n')
  setInterval(() => undefined, 60_000)
`

const runs: ChildProcess[] = []
afterEach(async () => {
  for (const run of runs.splice(0)) await killed(run)
  clearLeftovers()
})

async function startRun(): Promise<{ run: ChildProcess; folder: string; pid: number }> {
  const run = spawn(process.execPath, ['--input-type=module', '-e', RUN], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  runs.push(run)
  const lines = createInterface({ input: run.stdout })[Symbol.asyncIterator]()
  const line = await lines.next()
  const { folder, pid } = JSON.parse(line.value ?? '{}') as { folder: string; pid: number }
  return { run, folder, pid }
}

async function killed(run: ChildProcess): Promise<void> {
  if (run.exitCode !== null || run.signalCode !== null) return
  const gone = once(run, 'exit')
  run.kill('SIGKILL')
  await gone
}

test('leftovers of a killed run are ended and removed, those of a running one are kept', async () => {
  const dead = await startRun()
  const alive = await startRun()
  await killed(dead.run)
  expect(startOf(dead.pid)).not.toBeNull()
  clearLeftovers()
  expect(existsSync(dead.folder)).toBe(false)
  await vi.waitFor(() => expect(startOf(dead.pid)).toBeNull(), { timeout: 30_000 })
  expect(existsSync(alive.folder)).toBe(true)
  expect(startOf(alive.pid)).not.toBeNull()
})
