/** Reads CPU time and memory of a process from Linux's /proc. */
import { readFileSync } from 'node:fs'

/** Of `utime` and `stime`, a second: `getconf CLK_TCK` on every Linux. */
const TICKS_A_SECOND = 100
/** In the line of /proc/PID/stat behind the name: user and system time. */
const USER_TICKS = 11
const SYSTEM_TICKS = 12

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

/** A process that has ended, and was not waited for yet, has no such line. */
function memoryMb(pid: number, name: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
}
