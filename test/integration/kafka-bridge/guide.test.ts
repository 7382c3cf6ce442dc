/**
 * Tests the recipes of docs/use/kafka-consumers.md. Each is cut out of the page and run as a reader would, against
 * records of the product's own log with an aborted transaction among them.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PollerWriter } from '../../../src/ingest/writer-state/poller-writer.ts'
import { openKafkaLog } from '../../../src/log-kafka/log.ts'
import { traceText } from '../../../src/obs/trace-context.ts'
import { claimed, gapOpened, sampleGap } from '../../log/samples.ts'
import { root } from '../../support/house/repository.ts'
import { eventually } from '../../support/http/api-client.ts'
import { kafkaClient, transact, uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { eventAt } from '../../support/store.ts'
import { hasTool, runTool } from '../../support/tools.ts'

const page = readFileSync(join(root, 'docs/use/kafka-consumers.md'), 'utf8')
const shared = await sharedBrokers()
const brokers = (shared ?? []).join(',')
const hasKcat = hasTool('kcat', 'kcat')

/** The code block with that name in the comment above it. */
function recipe(name: string): string {
  const [, block] = new RegExp(`test\\.ts: ${name} -->\\n\`\`\`js\\n([\\s\\S]*?)\`\`\``).exec(page) ?? []
  if (block === undefined) throw new Error(`the page has no ${name}`)
  return block
}

describe.skipIf(shared === null)('the guide for Kafka consumers', () => {
  const prefix = uniqueName('guide')
  const log = openKafkaLog({
    ...kafkaLogOptions(shared ?? [], prefix),
    knownCodes: { fca: ['FR'], native: [] },
  })
  let writer: PollerWriter
  let folder: string
  let written = 0

  /** Commits the next `count` items; every tenth is a final result. */
  async function publish(count: number): Promise<void> {
    const events = Array.from({ length: count }, (_, index) => eventAt(written + index + 1))
    written += count
    await writer.commit({ events })
  }

  beforeAll(async () => {
    // Below the repository, so that the recipes find kafkajs as a reader's own project would.
    mkdirSync(join(root, '.cache'), { recursive: true })
    folder = mkdtempSync(join(root, '.cache/guide-'))
    writer = await claimed(log)
    await publish(30)
    const doomed = { topic: `${prefix}.all`, transactionalId: uniqueName('doomed') }
    await transact(kafkaClient(shared ?? []), doomed, ['never published'], 'abort')
    await publish(10)
  })
  afterAll(async () => {
    await log.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Runs a recipe until its output is as expected or it ends by itself. */
  async function play(
    name: string,
    args: string[],
    done: (lines: string[]) => boolean,
    env: Record<string, string> = {},
  ): Promise<{ code: number | null; lines: string[]; stderr: string }> {
    const file = join(folder, name)
    writeFileSync(file, recipe(name))
    const enough = new AbortController()
    const lines: string[] = []
    const run = runTool(process.execPath, [file, ...args], {
      env: { KAFKA_BROKERS: brokers, GROUP: uniqueName('desk'), ...env },
      signal: enough.signal,
      onLine: (line) => {
        lines.push(line)
        if (done(lines)) enough.abort()
      },
    })
    const { code, stderr } = await run
    return { code, lines, stderr }
  }

  interface Line {
    number: number
    id: string
    type: string
    late: boolean
  }
  const numbers = (lines: string[]): number[] => lines.map((line) => (JSON.parse(line) as Line).number)
  const upTo = (first: number, last: number): number[] =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index)

  it('follow.mjs reads every event, and resumes after a stop, with at most one event repeated', async () => {
    const position = join(folder, 'all.json')
    const first = await play('follow.mjs', [`${prefix}.all`, position], (lines) => lines.length === 40)
    expect(numbers(first.lines)).toEqual(upTo(1, 40))
    await writer.commit({ events: [gapOpened(sampleGap('g1'))] })
    await publish(4)
    const second = await play('follow.mjs', [`${prefix}.all`, position], (lines) =>
      numbers(lines).includes(45),
    )
    // Stopped after the last line and before storing its position, it prints that line again.
    const fresh = second.lines.filter((line) => numbers([line])[0] !== 40)
    expect(numbers(fresh)).toEqual(upTo(41, 45))
    expect((JSON.parse(fresh[0] ?? '') as Line).type).toBe('bridge.gap.opened.v1')
  })

  it('follow.mjs counts a category by its own numbers', async () => {
    const { lines } = await play(
      'follow.mjs',
      [`${prefix}.fca.FR`, join(folder, 'fr.json')],
      (all) => all.length === 4,
    )
    expect(numbers(lines)).toEqual([1, 2, 3, 4])
    expect((JSON.parse(lines[3] ?? '') as Line).id).toBe(eventAt(40).id)
  })

  it('follow.mjs stops at a hole in the numbers and names it', async () => {
    const position = join(folder, 'hole.json')
    const { epoch } = writer.state.head
    // As if records 6 to 10 had been lost: the position is before them, the offset after them.
    writeFileSync(position, JSON.stringify({ offset: '9', epoch, last: 5 }))
    const { code, stderr, lines } = await play('follow.mjs', [`${prefix}.all`, position], () => false)
    expect(code).toBe(1)
    expect(stderr).toContain(`missing: 6 to 10 of epoch ${epoch}`)
    expect(lines).toEqual([])
  })

  it('watch.mjs distinguishes a heartbeat from silence', async () => {
    const producer = kafkaClient(shared ?? []).producer()
    await producer.connect()
    const beat = {
      type: 'heartbeat',
      sequence: 45,
      lastGoodPoll: '2026-02-03T21:14:05.120Z',
      nextPoll: '2026-02-04T01:40:00.000Z',
      phase: 'closed',
    }
    const beats = setInterval(() => {
      void producer.send({ topic: `${prefix}.status`, messages: [{ value: JSON.stringify(beat) }] })
    }, 100)
    try {
      const { lines } = await play(
        'watch.mjs',
        [`${prefix}.status`],
        (all) => {
          if (all.length === 2) clearInterval(beats)
          return all.at(-1) === 'silent' && all.length > 2
        },
        { SILENT_AFTER_MS: '1500' },
      )
      expect(lines.find((line) => line !== 'silent')).toBe(
        'alive at 45, polled 2026-02-03T21:14:05.120Z, market closed',
      )
      expect(lines.at(-1)).toBe('silent')
    } finally {
      clearInterval(beats)
      await producer.disconnect()
    }
  })

  it.skipIf(!hasKcat)('each kcat command prints what the page shows', async () => {
    const [, block = ''] = /kafka-bridge\/guide\.test\.ts -->\n```sh\n([\s\S]*?)```/.exec(page) ?? []
    const commands = block.split('\n').filter((line) => line.startsWith('kcat '))
    const outputs: string[][] = []
    for (const command of commands) {
      const ours = command.replaceAll('localhost:9092', brokers).replaceAll('disclosures.', `${prefix}.`)
      const { code, stdout, stderr } = await runTool('sh', ['-c', ours])
      expect(code, `${command}\n${stderr}`).toBe(0)
      outputs.push(stdout.trimEnd().split('\n'))
    }
    const [headers = [], results = [], issuer = [], uncommitted = []] = outputs
    const items = uncommitted.length - 1
    expect(headers).toHaveLength(items)
    expect(headers[0]).toMatch(/ce_sequence=0{19}1(,|$)/)
    expect(results.map((line) => (JSON.parse(line) as { guid: string }).guid).slice(0, 2)).toEqual([
      eventAt(10).id,
      eventAt(20).id,
    ])
    expect(issuer.length).toBeGreaterThanOrEqual(40)
    expect(uncommitted.filter((line) => line.endsWith(' never published'))).toHaveLength(1)
    expect(headers.join()).not.toContain('never')
  })

  it('the guide names every header of a record, and no other', async () => {
    const [, table = ''] = page.split('\n## Records\n')
    const section = table.split('\n## ')[0] ?? ''
    const named = [...section.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, names = '']) =>
      names.split(', ').map((name) => name.replaceAll('`', '')),
    )
    const sample = eventAt(written + 1)
    const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
    const rare = {
      late: true,
      aheadof: sample.time,
      replacesid: 'urn:newsml:example:1',
      foundBy: 'poll',
      journey: `sent=412 trace=${traceText(trace)}`,
    } as const
    const event = { ...sample, ...rare }
    await writer.commit({ events: [event] })
    const headers = await eventually(
      () => headersOf(`${prefix}.all`),
      (all) => all.some((one) => 'ce_replacesid' in one),
      20_000,
    )
    const full = headers.find((one) => 'ce_replacesid' in one) ?? {}
    expect(new Set(named)).toEqual(new Set(Object.keys(full)))
  })

  async function headersOf(topic: string): Promise<Record<string, unknown>[]> {
    const consumer = kafkaClient(shared ?? []).consumer({ groupId: uniqueName('headers') })
    await consumer.connect()
    try {
      await consumer.subscribe({ topic, fromBeginning: true })
      const found: Record<string, unknown>[] = []
      await new Promise<void>((resolve, reject) => {
        const eachMessage = async ({ message }: { message: { headers?: object } }): Promise<void> => {
          found.push({ ...message.headers })
          if ('ce_replacesid' in (message.headers ?? {})) resolve()
        }
        consumer.run({ eachMessage }).catch(reject)
      })
      return found
    } finally {
      await consumer.disconnect()
    }
  }
})
