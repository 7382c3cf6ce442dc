import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { backupCommand } from '../../../src/cli/commands/backup.ts'
import { restoreCommand } from '../../../src/cli/commands/restore.ts'
import type { CliCommand } from '../../../src/cli/terminal/command.ts'
import { claimed, sampleEvent, sampleEvents } from '../../log/samples.ts'
import { createLogFolders } from '../../log-embedded/logs.ts'
import { bridgeEnv } from '../../support/bridge-process.ts'
import { testContext } from '../command-context.ts'

const logs = createLogFolders()
afterEach(() => logs.clean())

const NO_UPSTREAM = { url: 'http://127.0.0.1:9/v2', key: 'none' }

async function run(command: CliCommand, dataDir: string, ...args: string[]) {
  const { context, stdout, stderr } = testContext(bridgeEnv(NO_UPSTREAM, dataDir))
  const failure = await command(args, context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string },
  )
  return { stdout, stderr, failure }
}

/** The data directory of a bridge that runs. */
async function running(count: number) {
  const dataDir = logs.folder()
  const { log } = logs.open(dataDir)
  const writer = await claimed(log)
  await writer.spend(1, 'poll', Date.now() - 60_000)
  await writer.commit({ events: sampleEvents(1, count) })
  return { dataDir, log, writer }
}

describe('bridge backup', () => {
  test('says what the backup of a running bridge holds, in words and as JSON', async () => {
    const { dataDir, writer } = await running(3)
    const { epoch } = writer.state.head
    const file = join(logs.folder(), 'one.db')
    const plain = await run(backupCommand, dataDir, file)
    expect([plain.failure, plain.stdout]).toEqual([
      null,
      [expect.stringMatching(`^${file}: 3 events, the last of .+, epoch ${epoch}, \\d+ kB, checked$`)],
    ])
    const json = await run(backupCommand, dataDir, join(logs.folder(), 'two.db'), '--json')
    expect(JSON.parse(json.stdout[0] ?? '')).toMatchObject({ epoch, sequence: 3, time: sampleEvent(3).time })
  })

  test('needs the settings of the data directory only, a file, and an embedded log', async () => {
    const { dataDir } = await running(1)
    const only = testContext({ BRIDGE_DATA_DIR: dataDir })
    await backupCommand([join(logs.folder(), 'one.db')], only.context)
    expect(only.stdout).toHaveLength(1)
    expect((await run(backupCommand, dataDir)).failure).toMatchObject({ code: 'usage' })
    const kafka = testContext({ BRIDGE_DATA_DIR: dataDir, BRIDGE_KAFKA_BROKERS: '127.0.0.1:9092' })
    await expect(backupCommand(['x.db'], kafka.context)).rejects.toMatchObject({ code: 'settings' })
  })
})

describe('bridge restore', () => {
  test('says what happens, and counts the time since the backup', async () => {
    const { dataDir, log, writer } = await running(3)
    const file = join(logs.folder(), 'one.db')
    await run(backupCommand, dataDir, file)
    await writer.commit({ events: [sampleEvent(4)] })
    await log.close()
    const { failure, stdout, stderr } = await run(restoreCommand, dataDir, file, '--json')
    expect(failure).toBeNull()
    const result = JSON.parse(stdout[0] ?? '') as Record<string, unknown>
    expect(result).toEqual({
      restored: true,
      epoch: expect.stringMatching(/^[A-Za-z0-9]{8}$/),
      replaced: expect.stringContaining('replaced-'),
      previousEpoch: writer.state.head.epoch,
      sequence: 3,
      time: sampleEvent(3).time,
      takenAt: expect.any(String),
      since: expect.any(String),
      units: expect.any(Number),
    })
    expect(result.units).toBeGreaterThan(0)
    expect(result.since).toBe(result.takenAt)
    const printed = stderr.join('\n')
    for (const words of [
      `the backup of epoch ${writer.state.head.epoch} is whole`,
      `${dataDir} holds event 4 of epoch`,
      'get a gap event',
      'will be counted as spent since',
      'replaced-',
    ]) {
      expect(printed).toContain(words)
    }
    expect(logs.open(dataDir).archive).toMatchObject({ latest: 3, epoch: result.epoch })
  })

  test('with --dry-run changes nothing', async () => {
    const { dataDir, log } = await running(3)
    const file = join(logs.folder(), 'one.db')
    await run(backupCommand, dataDir, file)
    await log.close()
    const { failure, stdout, stderr } = await run(restoreCommand, dataDir, file, '--dry-run', '--json')
    expect(failure).toBeNull()
    expect(JSON.parse(stdout[0] ?? '')).toMatchObject({
      restored: false,
      epoch: null,
      replaced: null,
      sequence: 3,
    })
    expect(stderr.join('\n')).toContain('would be set aside')
    expect(logs.open(dataDir).archive.epoch).not.toBeNull()
  })

  test('of a backup whose stored state is damaged names the backup, not the present log', async () => {
    const { dataDir, writer } = await running(3)
    await writer.commit({ events: [], head: { cursor: 'the cursor of a backup that is damaged' } })
    const file = join(logs.folder(), 'one.db')
    await run(backupCommand, dataDir, file)
    const bytes = readFileSync(file)
    const at = bytes.indexOf('"the cursor of a backup that is damaged"')
    writeFileSync(file, bytes.fill('#', at, at + 24))
    for (const flags of [['--dry-run'], []]) {
      const empty = logs.folder()
      expect((await run(restoreCommand, empty, file, ...flags)).failure).toMatchObject({
        code: 'log_damaged',
        message: expect.stringMatching(
          `^the backup ${file} cannot be used: the value stored under .+ is not JSON$`,
        ),
        hint: 'Use another backup. Nothing was changed.',
      })
      expect(readdirSync(empty)).toEqual(['lock.db'])
    }
  })

  test('is refused while a bridge runs, and without a backup', async () => {
    const { dataDir } = await running(3)
    const file = join(logs.folder(), 'one.db')
    await run(backupCommand, dataDir, file)
    expect((await run(restoreCommand, dataDir, file)).failure).toMatchObject({ code: 'log_locked' })
    expect((await run(restoreCommand, dataDir)).failure).toMatchObject({ code: 'usage' })
    expect((await run(restoreCommand, dataDir, file, 'more')).failure).toMatchObject({ code: 'usage' })
    const missing = await run(restoreCommand, logs.folder(), join(dataDir, 'none.db'))
    expect(missing.failure).toMatchObject({ code: 'failed' })
  })
})
