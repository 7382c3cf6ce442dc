import { mkdirSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { bundle, MAIN } from '../../src/console/bundle.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { runTool } from '../support/tools.ts'

/** Bundles these modules from `main.ts` on. */
function bundled(modules: Record<string, string>): Map<string, string> {
  return bundle('main.ts', {
    read: (path) => modules[path] ?? '',
    resolve: (from, name) => {
      const path = posix.join(posix.dirname(from), name)
      if (modules[path] === undefined) throw new Error(`no ${path}`)
      return path
    },
  })
}

/** Runs the files in a process of their own, and resolves to what they print, line by line. */
async function run(files: ReadonlyMap<string, string>): Promise<string[]> {
  using directory = temporaryDirectory()
  mkdirSync(directory.path, { recursive: true })
  writeFileSync(join(directory.path, 'package.json'), '{"type":"module"}')
  for (const [name, text] of files) writeFileSync(join(directory.path, name), text)
  const main = pathToFileURL(join(directory.path, MAIN)).pathname
  const { stdout, stderr } = await runTool(process.execPath, [main])
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

test('modules run once, in the order of their needs, and see what the others export', async () => {
  const files = bundled({
    'main.ts': `import { twice as double } from './lib/a.ts'
import * as b from './lib/b.ts'
import {
  One,
  two,
} from './lib/c.ts'
console.log(double(two), b.name, new One().x, typeof b.later, 'twice' in b)
`,
    'lib/a.ts': "import { count } from './b.ts'\nexport const twice = (x) => x * count\n",
    'lib/b.ts': `console.log('b runs')
const hidden = 2
export { hidden as count, later }
export const name = 'b'
async function later() {}
`,
    'lib/c.ts': 'export class One { x = 1 }\nexport const two = 2\nexport async function three() {}\n',
  })
  expect([...files.keys()]).toEqual([MAIN])
  expect(await run(files)).toEqual(['b runs', '4 b 1 function false'])
})

test('what is imported later is a file of its own, and what two of these share is one more, which runs once', async () => {
  const files = bundled({
    'main.ts': `import { one } from './base.ts'
const loaded = [import('./left.ts'), import('./right.ts'), import('./base.ts')]
console.log(one, loaded.map((later) => typeof later.then).join())
Promise.all(loaded).then(([left, right, base]) => console.log(left.name, right.name, base.one))
`,
    'base.ts': 'export const one = 1\n',
    'left.ts': "import { big } from './big.ts'\nexport const name = 'left' + big\n",
    'right.ts':
      "import { big } from './big.ts'\nimport { one } from './base.ts'\nexport const name = 'right' + big + one\n",
    'big.ts': `import { one } from './base.ts'\nconsole.log('big runs')\nexport const big = ' big' + one\n//${'x'.repeat(5000)}\n`,
  })
  const kinds = [...files.keys()].map((name) => name.replace(/-\d+/, ''))
  expect(kinds.sort()).toEqual(['left.js', 'main.js', 'right.js', 'shared.js'])
  expect(files.get(MAIN)).not.toMatch(/^import/m)
  expect(await run(files)).toEqual(['1 function,function,function', 'big runs', 'left big1 right big11 1'])
})

test('the little that two of these share is in the first file, unless it needs what is not', async () => {
  const files = bundled({
    'main.ts':
      "Promise.all([import('./left.ts'), import('./right.ts')]).then(([a, b]) => console.log(a.a, b.b))\n",
    'left.ts': "import { small } from './small.ts'\nexport const a = small\n",
    'right.ts': "import { small } from './small.ts'\nexport const b = small\n",
    'small.ts': "export const small = 'here'\n",
  })
  expect([...files.keys()].filter((name) => name.startsWith('shared'))).toEqual([])
  expect(files.get(MAIN)).toContain("'here'")
  expect(await run(files)).toEqual(['here here'])
})

test.each([
  ["import x from './a.ts'", 'cannot bundle'],
  ["import { default as x } from './a.ts'", 'no default'],
  ['export default 1', 'cannot bundle'],
  ['export let x = 1', 'cannot bundle'],
  ["export { a } from './a.ts'", 'cannot bundle'],
  ["export * from './a.ts'", 'cannot bundle'],
  ["import { x } from './none.ts'", 'no none.ts'],
])('%s ends the build with the reason', (line, reason) => {
  expect(() => bundled({ 'main.ts': `${line}\n`, 'a.ts': 'export const a = 1\n' })).toThrow(reason)
})
