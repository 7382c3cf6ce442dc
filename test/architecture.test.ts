/**
 * The shape of the house, checked. Each rule is shown red on a small bad sample beside the real files, so that a rule
 * that sees nothing is noticed.
 */
import { expect, test } from 'vitest'
import {
  homelessExports,
  importCycles,
  machinePaths,
  machineTime,
  missingHeaders,
  namedHosts,
  strayPackages,
  tallFiles,
  undocumentedExports,
  wrongDirections,
} from './support/house/house-rules.ts'
import { readSource, readSources, type SourceFile } from './support/house/imports.ts'
import { root, textFiles } from './support/house/repository.ts'

const sources = readSources(root, 'src')
const tests = [...readSources(root, 'test'), ...readSources(root, 'bench')]
const client = readSources(root, 'clients/typescript')
const texts = textFiles()

const CLOCK = 'src/lifecycle/clock.ts'
const CLIENT_CLOCK = 'clients/typescript/src/clock.ts'
const CEILING = 400
/** Files above the ceiling, each with the reason why it is one idea. */
const tallOnPurpose: Record<string, string> = {
  'src/webhooks/worker/shard-worker.ts': 'moved as it was; it is split in a change of its own',
  'test/log/conformance.ts': 'the contract of the log port in one piece, run over every adapter',
}

/** A sample file of one or more lines. */
function sample(path: string, ...lines: string[]): SourceFile {
  return readSource(path, lines.join('\n'))
}

test('imports go down the layers of the architecture page, never up or across', () => {
  expect(wrongDirections(sources)).toEqual([])
})

test('each package is imported by its owners only', () => {
  expect(strayPackages(sources)).toEqual([])
})

test('every request of a bridge passes one throttle and one transport: each is made in one place', () => {
  // The doctor is a process of its own, which sends with the key only where no bridge runs.
  const bridge = sources.filter(({ path }) => !path.startsWith('src/cli/doctor/'))
  for (const [maker, home] of [
    ['createTokenBucket', 'src/governor/quota/token-bucket.ts'],
    ['createTransport', 'src/upstream/transport.ts'],
  ] as const) {
    const makers = bridge.filter(({ path, text }) => path !== home && text.includes(`${maker}(`))
    expect(makers.map(({ path }) => path)).toEqual(['src/ingest/ingest.ts'])
  }
})

test('no file imports itself by way of others', () => {
  expect(importCycles([...sources, ...tests, ...client])).toEqual([])
})

test('no file is above the ceiling without a reason', () => {
  expect(tallFiles([...sources, ...tests, ...client], CEILING, tallOnPurpose)).toEqual([])
})

test('every name has one home and no default export', () => {
  expect(homelessExports([...sources, ...client])).toEqual([])
})

test('every source file begins by saying what it owns', () => {
  expect(missingHeaders([...sources, ...client])).toEqual([])
})

test('every exported name is documented', () => {
  expect(undocumentedExports([...sources, ...client])).toEqual([])
})

test('only the clock asks the machine for time, timers and chance', () => {
  expect(machineTime(sources, CLOCK)).toEqual([])
  expect(machineTime(client, CLIENT_CLOCK)).toEqual([])
  expect(machineTime(sources, 'nobody').length).toBeGreaterThan(0)
})

test('no page, test or source names a real service or a path of one machine', () => {
  expect(namedHosts(texts)).toEqual([])
  expect(machinePaths(texts)).toEqual([])
})

test('the rule of direction sees a wrong layer, a role beside a role, an unknown folder, a way out of src', () => {
  const breaches = wrongDirections([
    sample('src/core/a.ts', "import { x } from '../lifecycle/clock.ts'"),
    sample('src/archive/a.ts', "import type { X } from '../streams/session.ts'"),
    sample('src/streams/a.ts', "import { x } from '../api/router.ts'"),
    sample('src/sandbox/a.ts', "import { x } from '../api/status.ts'"),
    sample('src/streams/b.ts', "const x = await import('../ingest/poller.ts')"),
    sample('src/streams/c.ts', "export type X = import('../ingest/poller.ts').Poller"),
    sample('src/streams/d.ts', "export { x } from '../ingest/poller.ts'"),
    sample('src/main.ts', "import { x } from './ingest/poller.ts'"),
    sample('src/app/app.ts', "import { x } from '../cli/run.ts'"),
    sample('src/helpers/a.ts', 'export const x = 1'),
    sample('src/log/a.ts', "import { x } from '../../test/support/x.ts'"),
  ])
  expect(breaches.map((breach) => breach.split(':')[0])).toEqual([
    'src/core/a.ts',
    'src/archive/a.ts',
    'src/streams/a.ts',
    'src/sandbox/a.ts',
    'src/streams/b.ts',
    'src/streams/c.ts',
    'src/streams/d.ts',
    'src/main.ts',
    'src/app/app.ts',
    'src/helpers/a.ts',
    'src/log/a.ts',
  ])
  expect(
    wrongDirections([sample('src/sandbox/a.ts', "import { x } from '../api/mirror/router.ts'")]),
  ).toEqual([])
})

test('the rule of packages sees a stray import and a package without an owner', () => {
  const breaches = strayPackages([
    sample('src/log-embedded/a.ts', "import { DatabaseSync } from 'node:sqlite'"),
    sample('src/api/routes/status.ts', "import type { Request } from 'express'"),
    sample('src/core/a.ts', "import { setTimeout } from 'node:timers/promises'"),
    sample('src/core/b.ts', "import left from 'left-pad'"),
  ])
  expect(breaches).toHaveLength(4)
  const fine = [
    sample('src/storage/database.ts', "import { DatabaseSync } from 'node:sqlite'"),
    sample('src/streams/sse-router.ts', "import { Router } from 'express'"),
    sample('src/core/c.ts', "import { createHash } from 'node:crypto'"),
  ]
  expect(strayPackages(fine)).toEqual([])
})

test('the rule of circles sees a long one, a short one, and one that is only types', () => {
  const circle = [
    sample('src/core/a.ts', "import { b } from './b.ts'"),
    sample('src/core/b.ts', "import type { C } from './c.ts'"),
    sample('src/core/c.ts', "import { a } from './a.ts'", "import { c } from './c.ts'"),
  ]
  expect(importCycles(circle)).toEqual([
    'src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts',
    'src/core/c.ts → src/core/c.ts',
  ])
  expect(importCycles(circle.slice(0, 2))).toEqual([])
})

test('the rule of the ceiling sees a tall file, spares an exception, and notices one that is not needed', () => {
  const files = [sample('src/a.ts', ...Array(5).fill('//')), sample('src/b.ts', '//')]
  expect(tallFiles(files, 4, {})).toEqual(['src/a.ts: more than 4 lines'])
  expect(tallFiles(files, 4, { 'src/a.ts': 'a table' })).toEqual([])
  expect(tallFiles(files, 5, { 'src/a.ts': 'a table' })).toEqual([
    'src/a.ts: needs no exception from the ceiling',
  ])
})

test('the rules of exports see a default, a barrel, a missing header and a missing comment', () => {
  expect(homelessExports([sample('src/a.ts', 'export default 1')])).toHaveLength(1)
  expect(
    homelessExports([sample('src/a.ts', "export * from './b.ts'", "export { x } from './c.ts'")]),
  ).toHaveLength(2)
  expect(missingHeaders([sample('src/a.ts', '// owns', 'export {}')])).toHaveLength(1)
  expect(missingHeaders([sample('src/a.ts', '#!/usr/bin/env node', '/** Owns. */')])).toEqual([])
  const file = sample(
    'src/a.ts',
    '/** Owns. */',
    "import { x } from './x.ts'",
    '',
    'export const bare = 1',
    '',
    '/** One. */',
    'const hidden = 1',
    '',
    'export type Below = 1',
    '',
    '/** Two. */',
    'export const two = 2',
    'export type Two = typeof two',
    '',
    'export interface Members {',
    '  /** Three. */',
    '  three: 3',
    '}',
  )
  expect(undocumentedExports([file])).toEqual([
    'src/a.ts: bare has no comment',
    'src/a.ts: Below has no comment',
  ])
})

test('the rule of the clock sees every way to ask the machine, and lets given times through', () => {
  const ways = [
    'Date.now()',
    'new Date()',
    'Date()',
    'Math.random()',
    'performance.now()',
    'setTimeout(f, 1)',
    'setInterval(f, 1)',
    'globalThis.setTimeout(f, 1)',
    '[1].map(Date.now)',
  ]
  for (const way of ways)
    expect(machineTime([sample('src/core/a.ts', `const x = ${way}`)], CLOCK), way).toHaveLength(1)
  expect(
    machineTime(
      [sample('src/core/a.ts', '// Date.now()', 'const x = new Date(5)', "const y = 'setTimeout'")],
      CLOCK,
    ),
  ).toEqual([])
  expect(machineTime([sample(CLOCK, 'const x = Date.now()')], CLOCK)).toEqual([])
})

test('the rules of words see a real host and a path of one machine', () => {
  const page = (text: string) => [{ path: 'README.md', text }]
  const live = ['https:/', 'api.live-service.co.uk', 'v2'].join('/')
  expect(namedHosts(page(`see ${live}.`))).toEqual(['README.md: names the host api.live-service.co.uk'])
  expect(
    namedHosts(page('http://127.0.0.1:8080/v1 https://desk.example/x http://$HOST/ http://[::1]:1/')),
  ).toEqual([])
  const local = ['', 'home', 'me', 'x.ts'].join('/')
  expect(machinePaths(page(`open ${local}`))).toHaveLength(1)
  expect(machinePaths(page('open ./src/home/x.ts or /var/lib/bridge'))).toEqual([])
})
