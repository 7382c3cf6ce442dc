/**
 * Loaded into a process by `--import`, before anything else: moves its wall clock by as many milliseconds as the file that
 * `HOST_CLOCK_FILE` names says, and follows the file. Timers run on, as on a host whose clock is set.
 */
import { readFileSync } from 'node:fs'

const LOOK_MS = 100

const file = process.env.HOST_CLOCK_FILE ?? ''
const RealDate = Date
let movedMs = 0

function look(): void {
  movedMs = Number(readFileSync(file, 'utf8'))
}

look()
setInterval(look, LOOK_MS).unref()

globalThis.Date = class extends RealDate {
  constructor(...values: [] | [number]) {
    if (values.length === 0) super(RealDate.now() + movedMs)
    else super(...values)
  }

  static override now(): number {
    return RealDate.now() + movedMs
  }
} as DateConstructor
