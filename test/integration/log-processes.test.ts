/** Tests the embedded log with real processes: kill -9, a second process, a full disk. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { seededChance } from '../../src/core/chance.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { openSqliteLog } from '../../src/log-embedded/log.ts'
import { claimed, followed, idsOf, START_MS, sampleEvents, sequencesOf } from '../log/samples.ts'

const CHILD = join(import.meta.dirname, 'log-child.ts')
const folders: string[] = []
const children: ChildProcess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) await killed(child)
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-log-'))
  folders.push(folder)
  return folder
}

interface Said {
  pid?: number
  sequence?: number
  spent?: number
  failed?: string
  hint?: string
  reread?: number | null
}

/** Starts a writer; `said` collects its output lines. */
function startWriter(dataDir: string, command = process.execPath, before: string[] = []) {
  const child = spawn(command, [...before, CHILD, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<Said | null> => {
    const line = await lines.next()
    return line.done === true ? null : (JSON.parse(line.value) as Said)
  }
  return { child, next }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Opens the directory in this process, returns its contents, and closes it. */
async function inspect(dataDir: string) {
  const { log } = openSqliteLog({ dataDir, nativeKind: 'Native', clock: systemClock })
  try {
    const { head, ledger } = (await claimed(log)).state
    const events = head.sequence === 0 ? [] : await followed(log, 0, head.sequence)
    return { head, spent: ledger.get(START_MS)?.poll ?? 0, events }
  } finally {
    await log.close()
  }
}

describe('the embedded log in several processes', () => {
  it('killed again and again in the middle of commits loses nothing acknowledged and repeats nothing', async () => {
    const dataDir = newFolder()
    const chance = seededChance(7)
    let acknowledged = 0
    for (let round = 0; round < 8; round++) {
      const { child, next } = startWriter(dataDir)
      let last: Said = {}
      for (let lines = chance.between(1, 25); lines > 0; lines--) last = (await next()) ?? last
      await killed(child)
      for (let rest = await next(); rest !== null; rest = await next()) last = rest
      const { head, spent, events } = await inspect(dataDir)
      expect(head.sequence).toBeGreaterThanOrEqual(Math.max(acknowledged, last.sequence ?? 0))
      expect(spent).toBeGreaterThanOrEqual(last.spent ?? 0)
      expect(sequencesOf(events)).toEqual(Array.from({ length: head.sequence }, (_, index) => index + 1))
      expect(idsOf(events)).toEqual(idsOf(sampleEvents(1, head.sequence)))
      acknowledged = head.sequence
    }
    expect(acknowledged).toBeGreaterThan(0)
  })

  it('refuses a second process, naming the first, until the first is gone, even by kill -9', async () => {
    const dataDir = newFolder()
    const { child, next } = startWriter(dataDir)
    const { pid } = (await next()) ?? {}
    await expect(inspect(dataDir)).rejects.toMatchObject({
      code: 'log_locked',
      message: expect.stringContaining(`process ${pid} on `),
    })
    await killed(child)
    expect((await inspect(dataDir)).head.epoch).toMatch(/^[A-Za-z0-9]{8}$/)
  })

  it('on a full disk ends the writer with the remedy, and keeps everything acknowledged', async () => {
    const dataDir = newFolder()
    // No file of this process may pass 8 MiB (16,384 blocks); with the signal ignored, the write fails as on a full disk.
    const limited = 'trap "" XFSZ; ulimit -f 16384; exec "$0" "$@"'
    const { next } = startWriter(dataDir, 'sh', ['-c', limited, process.execPath])
    let acknowledged = 0
    let failed: Said | null = null
    for (let said = await next(); said !== null; said = await next()) {
      acknowledged = said.sequence ?? acknowledged
      if (said.failed !== undefined) failed = said
    }
    expect(failed).toMatchObject({ failed: 'log_unknown', hint: expect.stringContaining('disk') })
    const { head, events } = await inspect(dataDir)
    expect(acknowledged).toBeGreaterThan(0)
    expect(head.sequence).toBeGreaterThanOrEqual(acknowledged)
    expect(idsOf(events)).toEqual(idsOf(sampleEvents(1, head.sequence)))
  })
})
