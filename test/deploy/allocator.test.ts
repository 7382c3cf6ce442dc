import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
/** Without both of them glibc keeps what a burst took. */
const VARIABLES = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768' }

/** The value that the text gives a variable, whether by default, as `NAME=value` or as a member. */
function valueIn(text: string, name: string): string | undefined {
  return new RegExp(`${name}(?:="\\$\\{${name}-|=|: ')(\\w+)`).exec(text)?.[1]
}

test.each(['deploy/release/bridge.sh', 'deploy/Dockerfile', 'test/campaign/soak/process.ts'])(
  '%s starts a bridge with the malloc that was measured',
  (file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const values = Object.keys(VARIABLES).map((name) => [name, valueIn(text, name)])
    expect(Object.fromEntries(values)).toEqual(VARIABLES)
  },
)
