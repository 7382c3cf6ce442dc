/** Tests that the demo loads nothing large that it does not use, and that its compile cache lies where nobody else writes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../support/bridge-process.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Runs before the command line and prints at the end what Node has loaded of it. */
const WATCH = `
  import { createRequire } from 'node:module'
  const { cache } = createRequire(${JSON.stringify(join(ROOT, 'package.json'))})
  process.on('exit', () => {
    const builtin = process.moduleLoadList.filter((name) => /deps\\/(amaro|undici)/.test(name)).map((name) => name.split('/')[2])
    const ours = Object.keys(cache).some((path) => path.includes('node_modules/kafkajs/')) ? ['kafkajs'] : []
    process.stderr.write('loaded ' + JSON.stringify([...builtin, ...ours]))
  })
`

/** A checkout whose compile cache is empty. */
function layOut(checkout: string): void {
  for (const path of ['bin', 'src', 'clients', 'package.json']) {
    cpSync(join(ROOT, path), join(checkout, path), { recursive: true })
  }
  const packages = join(checkout, 'node_modules')
  mkdirSync(packages)
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.')) symlinkSync(join(ROOT, 'node_modules', name), join(packages, name))
  }
}

/** What a demo that has begun and is stopped has loaded. */
async function loadedByDemo(checkout: string, temporary: string): Promise<unknown> {
  const args = ['--import', `data:text/javascript,${encodeURIComponent(WATCH)}`, 'bin/bridge.js', 'demo']
  const env = { PATH: process.env.PATH, TMPDIR: temporary }
  const demo = spawn(process.execPath, args, { cwd: checkout, env })
  let logged = ''
  demo.stderr.on('data', (data) => {
    logged += data
  })
  // The ready line.
  demo.stdout.once('data', () => demo.kill('SIGINT'))
  const [code] = (await once(demo, 'close')) as [number | null]
  expect(code, logged).toBe(0)
  return JSON.parse(/loaded (.*)$/.exec(logged)?.[1] ?? 'null')
}

it('the demo loads neither a client of Kafka nor a second fetch, and after a first start nothing that strips types', async () => {
  using checkout = temporaryDirectory()
  using temporary = temporaryDirectory()
  layOut(checkout.path)
  expect(await loadedByDemo(checkout.path, temporary.path)).toEqual(['amaro'])
  expect(await loadedByDemo(checkout.path, temporary.path)).toEqual([])
  expect(readdirSync(temporary.path)).toEqual([])
})

it('a command that is started without the compile cache leaves nothing in the temporary directory', async () => {
  using temporary = temporaryDirectory()
  const env = { PATH: process.env.PATH, TMPDIR: temporary.path }
  const command = spawn(process.execPath, ['src/main.ts', 'version'], { cwd: ROOT, env })
  expect(await once(command, 'close')).toEqual([0, null])
  expect(readdirSync(temporary.path)).toEqual([])
})
