/** Tests the script that Debian runs at the end of an installation, with stand-ins for systemd's tools and the command. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { root } from '../support/house/repository.ts'

/** An installation in that folder. */
function installation(folder: string) {
  const [tools, etc] = [join(folder, 'tools'), join(folder, 'etc/disclosure-bridge')]
  for (const path of [tools, etc, join(folder, 'usr/bin')]) mkdirSync(path, { recursive: true })
  const program = (path: string, body: string) => writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 })
  for (const tool of ['systemd-sysusers', 'systemd-tmpfiles']) program(join(tools, tool), 'exit 0')
  program(join(folder, 'usr/bin/disclosure-bridge'), 'set -C; echo MADE=1 > "$3"')
  return {
    /** Returns the exit code. */
    configure({ brokenCat = false } = {}): number | null {
      if (brokenCat) program(join(tools, 'cat'), 'exit 1')
      const env = { PATH: `${tools}:${process.env.PATH}`, DPKG_ROOT: folder }
      const { status } = spawnSync('sh', [join(root, 'deploy/debian/postinst'), 'configure', ''], { env })
      if (brokenCat) program(join(tools, 'cat'), 'exec /bin/cat "$@"')
      return status
    },
    settings: join(etc, '.env'),
    files: () => readdirSync(etc),
  }
}

test('an installation that fails half way leaves no settings, and the next attempt makes them complete', () => {
  using directory = temporaryDirectory()
  const { configure, settings, files } = installation(directory.path)
  expect(configure({ brokenCat: true })).toBe(1)
  expect(existsSync(settings)).toBe(false)
  expect(configure()).toBe(0)
  expect(files()).toEqual(['.env'])
  const text = readFileSync(settings, 'utf8')
  expect(text).toMatch(/^MADE=1$/m)
  expect(text).toMatch(/^BRIDGE_DATA_DIR=\/var\/lib\/disclosure-bridge$/m)
  expect(configure()).toBe(0)
  expect(readFileSync(settings, 'utf8')).toBe(text)
})
