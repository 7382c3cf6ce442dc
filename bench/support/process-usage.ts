/** Reads CPU time and memory of a process from Linux's /proc. */
import { readFileSync } from 'node:fs'

/** Of `utime` and `stime`, a second: `getconf CLK_TCK` on every Linux. */
const TICKS_A_SECOND = 100
/** In the line of /proc/PID/stat behind the name: user and system time. */
const USER_TICKS = 11
const SYSTEM_TICKS = 12
/** glibc's arenas of threads begin at a multiple of it; the main one is `[heap]`. */
const ARENA_BYTES = 64n * 1024n * 1024n

/** User and system time of all its threads since it began, s. */
export function cpuSeconds(pid: number): number {
  const [, behindName = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = behindName.split(' ')
  return (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) / TICKS_A_SECOND
}

/** The most memory that was resident since it began, MB; NaN when it has ended. */
export function peakMb(pid: number): number {
  return memoryMb(pid, 'VmHWM')
}

/** Memory that is resident now, MB; NaN when it has ended. */
export function residentMb(pid: number): number {
  return memoryMb(pid, 'VmRSS')
}

/** Resident memory by where it lies, MB: in files, and in the areas that glibc's `malloc` keeps for small pieces. */
export function residentParts(pid: number): { fileMb: number; mallocMb: number } {
  let [fileKb, mallocKb] = [0, 0]
  let isMalloc = false
  let isFile = false
  for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
    const mapping = /^([\da-f]+)-[\da-f]+ \S+ \S+ \S+ (\d+) *(.*)$/.exec(line)
    if (mapping !== null) {
      const [, start = '', inode, name] = mapping
      isFile = inode !== '0'
      isMalloc = name === '[heap]' || (name === '' && BigInt(`0x${start}`) % ARENA_BYTES === 0n)
      continue
    }
    const kb = Number(/^Rss: +(\d+) kB$/.exec(line)?.[1] ?? 0)
    if (isFile) fileKb += kb
    if (isMalloc) mallocKb += kb
  }
  return { fileMb: fileKb / 1024, mallocMb: mallocKb / 1024 }
}

/** A process that has ended, and was not waited for yet, has no such line. */
function memoryMb(pid: number, name: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
}
