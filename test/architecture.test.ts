/**
 * The shape of the house, checked. Each rule is shown red on a small bad sample beside the real files, so that a rule
 * that sees nothing is noticed.
 */
import { expect, test } from 'vitest'
import {
  madeMarkup,
  misreadTexts,
  PAGE_CLOCK,
  PAGE_FOLDER,
  strayPageImports,
} from './support/house/console-page.ts'
import { closedDoors, floors, printedPlan, unusedDoors, wrongDirections } from './support/house/floors.ts'
import {
  fullFolders,
  homelessExports,
  importCycles,
  longFunctions,
  machinePaths,
  machineTime,
  missingHeaders,
  namedHosts,
  sharedNames,
  strayPackages,
  tallFiles,
  textCasts,
  undocumentedExports,
} from './support/house/house-rules.ts'
import { readSource, readSources, type SourceFile } from './support/house/imports.ts'
import { root, textFiles } from './support/house/repository.ts'

const isOfPage = ({ path }: SourceFile): boolean => path.startsWith(PAGE_FOLDER)
const [page = [], sources = []] = [isOfPage, (file: SourceFile) => !isOfPage(file)].map((chosen) =>
  readSources(root, 'src').filter(chosen),
)
const tests = [...readSources(root, 'test'), ...readSources(root, 'bench')]
const client = readSources(root, 'clients/typescript')
const texts = textFiles()

const CLOCK = 'src/lifecycle/clock.ts'
const CLIENT_CLOCK = 'clients/typescript/src/clock.ts'
const CEILING = 400
/** Files above the ceiling, each with the reason why it is one idea. */
const tallOnPurpose: Record<string, string> = {
  'test/log/conformance.ts': 'the contract of the log port in one piece, run over every adapter',
}

/** A sample file of one or more lines. */
function sample(path: string, ...lines: string[]): SourceFile {
  return readSource(path, lines.join('\n'))
}

test('imports, types included, go down the floors, never up or across', () => {
  expect(wrongDirections(sources)).toEqual([])
})

test('folders are used through their doors only, and every door is used', () => {
  expect(closedDoors(sources)).toEqual([])
  expect(unusedDoors(sources)).toEqual([])
})

test('the architecture page prints the plan of the floors', () => {
  const page = texts.find(({ path }) => path === 'ARCHITECTURE.md')?.text ?? ''
  expect(page.split('<!-- floors -->\n')[1]?.split('\n<!-- /floors -->')[0]).toBe(printedPlan())
})

test('the page of the console imports itself, Preact, the client and types only, and makes no markup of text', () => {
  expect(page.length).toBeGreaterThan(0)
  expect(strayPageImports(page)).toEqual([])
  expect(madeMarkup(page)).toEqual([])
  expect(misreadTexts([...page, ...client])).toEqual([])
})

test('no function is longer than two screens', () => {
  expect(longFunctions([...sources, ...page])).toEqual([])
})

test('no folder is a drawer', () => {
  const paths = [...sources, ...page, ...tests, ...client].map(({ path }) => path)
  expect(fullFolders(paths, 20)).toEqual([])
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
  expect(importCycles([...sources, ...page, ...tests, ...client])).toEqual([])
})

test('no file is above the ceiling without a reason', () => {
  expect(tallFiles([...sources, ...page, ...tests, ...client], CEILING, tallOnPurpose)).toEqual([])
})

test('every name has one home and no default export', () => {
  expect(homelessExports([...sources, ...page, ...client])).toEqual([])
})

test('no two files export the same name', () => {
  expect(sharedNames(sources)).toEqual([])
  expect(sharedNames(page)).toEqual([])
})

test('every source file begins by saying what it owns', () => {
  expect(missingHeaders([...sources, ...page, ...client])).toEqual([])
})

test('every exported name is documented', () => {
  expect(undocumentedExports([...sources, ...page, ...client])).toEqual([])
})

test('only the clock asks the machine for time, timers and chance', () => {
  expect(machineTime(sources, CLOCK)).toEqual([])
  expect(machineTime(client, CLIENT_CLOCK)).toEqual([])
  expect(machineTime(page, PAGE_CLOCK)).toEqual([])
  expect(machineTime(sources, 'nobody').length).toBeGreaterThan(0)
})

test('no value from outside becomes text by String', () => {
  expect(textCasts([...sources, ...page, ...client])).toEqual([])
})

test('no page, test or source names a real service or a path of one machine', () => {
  expect(namedHosts(texts)).toEqual([])
  expect(machinePaths(texts)).toEqual([])
})

test('the rule of floors sees a higher floor, a neighbour, an unknown folder, a way out of src', () => {
  const breaches = wrongDirections([
    sample('src/core/a.ts', "import { x } from '../lifecycle/clock.ts'"),
    sample('src/archive/reading/a.ts', "import type { X } from '../../streams/session.ts'"),
    sample('src/streams/a.ts', "import { x } from '../webhooks/webhooks.ts'"),
    sample('src/api/routes/a.ts', "import { x } from '../../sandbox/sandbox.ts'"),
    sample('src/streams/b.ts', "const x = await import('../ingest/ingest.ts')"),
    sample('src/streams/c.ts', "export type X = import('../ingest/ingest.ts').Ingest"),
    sample('src/streams/d.ts', "export { x } from '../ingest/ingest.ts'"),
    sample('src/app/app.ts', "import { x } from '../cli/main.ts'"),
    sample('src/log/a.ts', "import type { X } from '../log-kafka/log.ts'"),
    sample('src/helpers/a.ts', 'export const x = 1'),
    sample('src/log/b.ts', "import { x } from '../../test/support/x.ts'"),
  ])
  expect(breaches.map((breach) => breach.split(':')[0])).toEqual([
    'src/core/a.ts',
    'src/archive/reading/a.ts',
    'src/streams/a.ts',
    'src/api/routes/a.ts',
    'src/streams/b.ts',
    'src/streams/c.ts',
    'src/streams/d.ts',
    'src/app/app.ts',
    'src/log/a.ts',
    'src/helpers/a.ts',
    'src/log/b.ts',
  ])
  const down = sample('src/sandbox/a.ts', "import { x } from '../api/mirror/router.ts'")
  expect(wrongDirections([down])).toEqual([])
})

test('the rule of floors sees an inner folder that uses a later one, and one without a place', () => {
  const breaches = wrongDirections([
    sample('src/ingest/machine/a.ts', "import type { X } from '../poller/poller.ts'"),
    sample('src/ingest/poller/a.ts', "import { x } from '../ingest.ts'"),
    sample('src/ingest/drawer/a.ts', 'export const x = 1'),
    sample('src/ingest/poller/b.ts', "import { x } from '../machine/step.ts'"),
  ])
  expect(breaches.map((breach) => breach.split(':')[0])).toEqual([
    'src/ingest/machine/a.ts',
    'src/ingest/poller/a.ts',
    'src/ingest/drawer/a.ts',
  ])
})

test('the rule of doors sees a way past them, for a type too, and a door that nobody uses', () => {
  const cellar = { name: 'cellar', does: 'keeps', doors: ['door.ts', 'inner/hatch.ts'] }
  const plan = [[{ name: 'attic', does: 'looks', doors: [] }], [cellar]]
  const files = [
    sample('src/attic/a.ts', "import type { X } from '../cellar/inner/private.ts'"),
    sample('src/attic/b.ts', "import { x } from '../cellar/door.ts'"),
    sample('src/cellar/c.ts', "import { x } from './inner/private.ts'"),
  ]
  expect(closedDoors(files, plan)).toEqual([
    'src/attic/a.ts: src/cellar/inner/private.ts is no door of `cellar`',
  ])
  expect(unusedDoors(files, plan)).toEqual(['src/cellar/inner/hatch.ts: nobody uses this door'])
  expect(floors.flat().filter(({ doors }) => doors !== 'every file').length).toBeGreaterThan(5)
})

test('the rules of the page see an import of code, of a package and of a file outside, and text that becomes markup', () => {
  const at = `${PAGE_FOLDER}screens/feed/a.ts`
  const breaches = strayPageImports([
    sample(at, "import { x } from '../../../../core/event.ts'"),
    sample(at, "import { type X } from '../../../../core/event.ts'"),
    sample(at, "export { x } from '../../../../core/event.ts'"),
    sample(at, "const x = await import('../../../../core/event.ts')"),
    sample(at, "import { hash } from 'node:crypto'"),
    sample(at, "import { signal } from '@preact/signals'"),
    sample(at, "import { x } from '../../../page-source.ts'"),
    sample(at, "import { x } from '../../../../../test/x.ts'"),
  ])
  expect(breaches).toHaveLength(8)
  const fine = [
    sample(
      at,
      "import type { X } from '../../../../core/event.ts'",
      "type Y = import('../../../../core/a.ts').Y",
    ),
    sample(at, "import { h } from 'preact'", "import { useState } from 'preact/hooks'"),
    sample(at, "import { x } from '../../shell/x.ts'", "const y = await import('./y.ts')"),
    sample(at, "import { connect } from '../../../../../clients/typescript/src/stream.ts'"),
  ]
  expect(strayPageImports(fine)).toEqual([])
  for (const way of [
    "h('p', { dangerouslySetInnerHTML: { __html: text } })",
    'place.innerHTML = text',
    "place.insertAdjacentHTML('beforeend', text)",
    'document.write(text)',
    "h('p', { style: 'width: 5px' })",
    'eval(text)',
  ])
    expect(madeMarkup([sample(at, way)]), way).toHaveLength(1)
  expect(madeMarkup([sample(at, "h('p', { style: { width: 5 } }, text)")])).toEqual([])
  for (const line of ['// a comment', '  /* one', "import { x } from './x.ts'", 'export const x = 1'])
    expect(misreadTexts([sample(at, 'const x = `first', line, 'last`')]), line).toHaveLength(1)
  expect(misreadTexts([sample(at, '// a comment', 'const x = `// first', 'important`')])).toEqual([])
})

test('the rules of size see a long function of each kind, and a full folder', () => {
  const body = Array(5).fill('  x()')
  const long = sample(
    'src/a.ts',
    'function f() {',
    ...body,
    '}',
    'const g = () => {',
    ...body,
    '}',
    'class C {',
    'm() {',
    ...body,
    '}',
    '}',
  )
  expect(longFunctions([long], 6).map((breach) => breach.split(' ')[1])).toEqual(['f', 'a', 'a'])
  expect(longFunctions([long], 7)).toEqual([])
  expect(fullFolders(['src/a/1.ts', 'src/a/2.ts', 'src/a/b/3.ts'], 1)).toEqual([
    'src/a: 2 files, more than 1',
  ])
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

test('the rule of shared names sees a value and a type under one name, and lets overloads of one file through', () => {
  const overloads = [
    'export function f(x: 1): 1',
    'export function f(x: 2): 2',
    'export function f(x) { return x }',
  ]
  const files = [
    sample('src/a.ts', 'export interface Place {}', 'export const x = 1', ...overloads),
    sample('src/b.ts', 'export const Place = 1'),
    sample('src/c.ts', 'const x = 2'),
  ]
  expect(sharedNames(files)).toEqual(['src/a.ts, src/b.ts: each exports Place'])
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

test('the rule of text sees a call, a constructor and a callback, and lets typed conversions through', () => {
  for (const way of ['String(value)', 'new String(value)', 'list.map(String)'])
    expect(textCasts([sample('src/core/a.ts', `const x = ${way}`)]), way).toHaveLength(1)
  const fine = ['const x = value.toString()', 'const y = String.raw`x`', 'const z = String.fromCharCode(1)']
  expect(textCasts([sample('src/core/a.ts', ...fine)])).toEqual([])
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
