/**
 * Measures every bridge of a soak every five seconds: memory, descriptors, processor time, the event loop, and the bytes on
 * disk. One line of JSON for each in `samples.ndjson`.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { cpuSeconds, residentMb, residentParts } from '../../../bench/support/process-usage.ts'
import type { SoakBridge } from './bridges.ts'

const MB = 1024 * 1024
/** Of `blocks`, on every system; Kafka's index files are larger than what they take. */
const BLOCK = 512

/** One look at one process. */
export interface Sample {
  name: string
  pid: number
  atMs: number
  /** Of the process, minutes. */
  age: number
  rssMb: number
  /** What V8 uses, collected or not. */
  heapMb: number
  /** Of that, what outlived the young generation, which rises and falls by 64 MB; samples before 24 November 2026 lack it. */
  oldMb?: number
  externalMb: number
  /** What V8 has taken for its heap, used or not; this and the next two are missing before 26 November 2026, 10:00. */
  heapTotalMb?: number
  /** Of the resident memory, what lies in the C library's own areas, used or free: SQLite's pages, buffers, strings. */
  mallocMb?: number
  /** Of the resident memory, program and libraries. */
  fileMb?: number
  descriptors: number
  /** User and system time since it began, s. */
  cpuS: number
  /** The upper edge of the longest delay of the event loop since it began, s, as the histogram's buckets tell it. */
  loopS: number
  streams: number
  pending: number
  storeMb: number
}

/** Looks at one bridge; null while it does not answer. */
export async function sampleOf({ name, dataDir, process, ready }: SoakBridge): Promise<Sample | null> {
  try {
    const response = await fetch(`${ready.ops}/metrics`, { signal: AbortSignal.timeout(10_000) })
    const text = await response.text()
    const { pid } = process
    return {
      name,
      pid,
      atMs: Date.now(),
      age: (Date.now() - process.startedMs) / 60_000,
      rssMb: residentMb(pid),
      heapMb: sumOf(text, 'nodejs_heap_size_used_bytes') / MB,
      oldMb: sumOf(text.replaceAll(/^.*space="new.*$/gm, ''), 'nodejs_heap_space_size_used_bytes') / MB,
      externalMb: sumOf(text, 'nodejs_external_memory_bytes') / MB,
      heapTotalMb: sumOf(text, 'nodejs_heap_size_total_bytes') / MB,
      ...residentParts(pid),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      cpuS: cpuSeconds(pid),
      loopS: longestOf(text, 'bridge_event_loop_delay_seconds'),
      streams: sumOf(text, 'bridge_stream_clients'),
      pending: sumOf(text, 'bridge_webhook_pending'),
      storeMb: bytesIn(dataDir) / MB,
    }
  } catch (error) {
    // It may be restarting; one that ended by itself is found by its owner.
    if (error instanceof TypeError || error instanceof DOMException || isGone(error)) return null
    throw error
  }
}

/** Keeps one sample. */
export function keep(folder: string, sample: Sample): void {
  appendFileSync(samplesFile(folder), `${JSON.stringify(sample)}\n`)
}

/** Every sample of this run and those before. */
export function samplesIn(folder: string): Sample[] {
  if (!existsSync(samplesFile(folder))) return []
  const lines = readFileSync(samplesFile(folder), 'utf8').split('\n')
  return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Sample)
}

/** Bytes on disk of every file below a folder. */
export function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, entry) =>
        sum + BLOCK * (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.blocks ?? 0),
      0,
    )
}

function samplesFile(folder: string): string {
  return join(folder, 'samples.ndjson')
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')
}

/** The sum over a metric's series; 0 where there is none. */
function sumOf(text: string, name: string): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

/** The edge of the lowest bucket that holds every observation. */
function longestOf(text: string, name: string): number {
  const buckets = [...text.matchAll(new RegExp(`^${name}_bucket\\{.*le="([^"]+)".*\\} (\\S+)$`, 'gm'))]
  const most = Math.max(0, ...buckets.map(([, , count]) => Number(count)))
  const [, edge = '0'] = buckets.find(([, , count]) => Number(count) === most) ?? []
  return edge === '+Inf' ? Number.POSITIVE_INFINITY : Number(edge)
}
