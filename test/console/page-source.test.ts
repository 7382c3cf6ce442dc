import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createPageSource } from '../../src/console/page-source.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { root as ROOT } from '../support/house/repository.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const DOCKERFILE = join(ROOT, 'deploy/Dockerfile')

/** A source whose page is printed by a script of the test. */
function sourceOf(script: string) {
  const { logger, lines } = keepingLogger()
  const stopping = new AbortController()
  const clock = createManualClock()
  const page = createPageSource({ clock, logger, stopping: stopping.signal, script })
  return { page, lines, stopping, clock }
}

const PAGE = JSON.stringify({ hash: 'h', shell: '<p>', screens: [], files: {} })

test('all first callers share one build, in a process that sees none of the secrets', async () => {
  using directory = temporaryDirectory()
  const script = join(directory.path, 'build.mjs')
  // Leaves a file for each run, with its environment.
  writeFileSync(
    script,
    `import { writeFileSync } from 'node:fs'
     writeFileSync(${JSON.stringify(directory.path)} + '/run-' + process.pid, JSON.stringify(process.env))
     process.stdout.write(${JSON.stringify(PAGE)})`,
  )
  process.env.BRIDGE_SECRET_OF_THE_TEST = 'not for the child'
  const { page, lines } = sourceOf(script)
  const [one, two] = await Promise.all([page(), page()])
  delete process.env.BRIDGE_SECRET_OF_THE_TEST
  expect(one).toBe(two)
  expect(await page()).toBe(one)
  const runs = readdirSync(directory.path).filter((name) => name.startsWith('run-'))
  expect(runs).toHaveLength(1)
  expect(readFileSync(join(directory.path, runs[0] ?? ''), 'utf8')).not.toContain('not for the child')
  expect(lines).toMatchObject([{ level: 'info', event: 'console.built' }])
})

test('a build that fails is a 503 with its reason in the log, and nobody tries again for half a minute', async () => {
  using directory = temporaryDirectory()
  const script = join(directory.path, 'build.mjs')
  writeFileSync(script, "throw new Error('the disk is gone')")
  const { page, lines, clock } = sourceOf(script)
  await expect(page()).rejects.toMatchObject({ code: 'unavailable' })
  expect(lines).toMatchObject([{ level: 'error', event: 'console.build_failed' }])
  expect(`${lines[0]?.fields.error}`).toContain('the disk is gone')
  writeFileSync(script, `process.stdout.write(${JSON.stringify(PAGE)})`)
  clock.advance(29_999)
  await expect(page()).rejects.toMatchObject({ code: 'unavailable' })
  expect(lines).toHaveLength(1)
  clock.advance(1)
  expect(await page()).toMatchObject({ hash: 'h' })
})

test('an image is built with the very page that a child process would print, but for the name of the command line', async () => {
  using directory = temporaryDirectory()
  const file = join(directory.path, 'page.built.json')
  const [, command = '[]'] = /^RUN (\[.*build-page.*\])$/m.exec(readFileSync(DOCKERFILE, 'utf8')) ?? []
  const [, ...words] = JSON.parse(command) as string[]
  expect(words.pop()).toBe('src/console/page.built.json')
  const run = promisify(execFile)
  const { stderr } = await run(process.execPath, [...words, file], { cwd: ROOT })
  const { stdout } = await run(process.execPath, words, { cwd: ROOT })
  const named = (text: string, name: string) =>
    text.split(`<meta name=\\"command\\" content=\\"${name}\\" />`)
  const installed = named(readFileSync(file, 'utf8'), 'bridge')
  expect(installed).toHaveLength(2)
  expect([installed, stderr]).toEqual([named(stdout, 'npx --no-install bridge'), ''])
  expect(JSON.parse(stdout)).toMatchObject({ shell: expect.stringContaining('<!doctype html>') })
})

test('a stop ends the build without a word in the log', async () => {
  using directory = temporaryDirectory()
  const script = join(directory.path, 'build.mjs')
  writeFileSync(script, 'await new Promise((resolve) => setInterval(resolve, 1e9))')
  const { page, lines, stopping } = sourceOf(script)
  const asked = page()
  stopping.abort()
  await expect(asked).rejects.toMatchObject({ code: 'unavailable' })
  expect(lines).toEqual([])
})
