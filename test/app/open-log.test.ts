import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openLog } from '../../src/app/open-log.ts'
import type { Archive } from '../../src/archive/store/archive.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { createReleaseStack } from '../../src/lifecycle/release-stack.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import type { KafkaSettings } from '../../src/settings/kafka.ts'
import { inPlace, items } from '../archive/samples.ts'
import { keepingLogger } from '../support/keeping-logger.ts'

/** Nothing listens on port 1. */
const AWAY: KafkaSettings = {
  brokers: ['127.0.0.1:1'],
  tls: null,
  sasl: null,
  files: {},
  topics: { prefix: 'open', replication: null, retentionMs: 1, allRetentionMs: null },
}
const folder = mkdtempSync(join(tmpdir(), 'bridge-open-'))
const dataDir = join(folder, 'data')
const copy = join(dataDir, 'copy.db')
const PAGE_BYTES = 8192
const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const log of opened.splice(0)) await log.close()
  rmSync(folder, { recursive: true, force: true })
})

async function open(kafka: KafkaSettings | null) {
  const { logger, lines } = keepingLogger()
  const stack = createReleaseStack()
  const close = (): Promise<void> => stack.release()
  opened.push({ close })
  const metrics = createMetrics({ version: '0' })
  const options = { kafka, dataDir, nativeKind: 'Native', clock: systemClock, logger, metrics }
  const log = await openLog(options, stack)
  return { ...log, close, lines }
}

describe('choosing the log', () => {
  it('opens the embedded log without brokers: its store is the archive, and it waits for nothing', async () => {
    const { log, shared, waitingFor } = await open(null)
    expect([log.kind, shared, waitingFor()]).toEqual(['embedded', true, null])
  })

  it('opens Kafka with brokers, and a replica; while Kafka is unavailable it reports what it waits for', async () => {
    const { log, shared, waitingFor } = await open(AWAY)
    expect([log.kind, shared]).toEqual(['kafka', false])
    expect(waitingFor()).toContain('Kafka')
    expect(readdirSync(dataDir)).toContain('copy.db')
  })

  it('refuses a second process on the replica too', async () => {
    await open(AWAY)
    await expect(open(AWAY)).rejects.toMatchObject({ code: 'log_locked' })
  })

  it('keeps the replica over a restart, and releases the directory', async () => {
    const first = await open(AWAY)
    first.archive.append(inPlace(items(3)))
    await first.close()
    await first.close()
    expect((await open(AWAY)).archive.latest).toBe(3)
  })

  it.each([
    ['that is no database', () => writeFileSync(copy, 'not what SQLite writes'.repeat(1000))],
    ['of a newer version', () => openedCopy((archive) => archive.db.exec('PRAGMA user_version = 99'))],
  ])('deletes a replica %s, and logs that', async (_what, damage) => {
    mkdirSync(dataDir, { recursive: true })
    await damage()
    const { archive, lines } = await open(AWAY)
    expect(archive.latest).toBe(0)
    archive.append(inPlace(items(1)))
    expect(lines.filter(({ event }) => event === 'replica.damaged')).toHaveLength(1)
  })

  it('deletes a replica whose damage shows on a read, ends the process, and rebuilds it', async () => {
    await openedCopy((archive) => archive.append(inPlace(items(400))))
    const bytes = readFileSync(copy)
    // The header of the database page with an event from the middle.
    const page = Math.floor(bytes.indexOf('"headline":"Item 200"') / PAGE_BYTES) * PAGE_BYTES
    bytes.fill(0xa5, page, page + 12)
    writeFileSync(copy, bytes)
    const first = await open(AWAY)
    const watching = first.watch(new AbortController().signal)
    const readAll = (): unknown => first.archive.committed(0, 1000)
    expect(readAll).toThrow(expect.objectContaining({ code: 'log_damaged' }))
    await expect(watching).rejects.toMatchObject({
      code: 'log_damaged',
      hint: expect.stringContaining('again'),
    })
    expect(first.lines.filter(({ event }) => event === 'replica.damaged')).toHaveLength(1)
    expect(readAll).toThrow()
    expect(first.lines.filter(({ event }) => event === 'replica.damaged')).toHaveLength(1)
    await first.close()
    expect((await open(AWAY)).archive.latest).toBe(0)
  })

  it('deletes a replica that was truncated', async () => {
    await openedCopy((archive) => archive.append(inPlace(items(400))))
    truncateSync(copy, 3 * PAGE_BYTES)
    const { archive, lines } = await open(AWAY)
    expect([archive.latest, lines.map(({ event }) => event)]).toEqual([0, ['replica.damaged']])
  })

  it('logs for a deleted replica that no action is needed, and for the embedded log to restore a backup', async () => {
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(copy, 'not what SQLite writes'.repeat(1000))
    const [line] = (await open(AWAY)).lines
    expect(line).toMatchObject({
      event: 'replica.damaged',
      fields: {
        error: { code: 'log_damaged', hint: expect.stringMatching(/^Nothing needs to be done: .* disk/) },
      },
    })
    writeFileSync(join(dataDir, 'bridge.db'), 'not what SQLite writes'.repeat(1000))
    await opened.pop()?.close()
    await expect(open(null)).rejects.toMatchObject({ hint: expect.stringContaining('backup') })
  })

  it('never deletes the embedded log', async () => {
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(join(dataDir, 'bridge.db'), 'not what SQLite writes'.repeat(1000))
    await expect(open(null)).rejects.toMatchObject({ code: 'log_damaged' })
  })
})

async function openedCopy(change: (archive: Archive) => void): Promise<void> {
  const { archive, close } = await open(AWAY)
  change(archive)
  await close()
}
