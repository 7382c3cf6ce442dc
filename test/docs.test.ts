/**
 * The pages say what is true: links lead somewhere, commands exist, every setting, metric and named test is real.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generatedPages } from '../docs/generate.ts'
import { VERSION } from '../src/core/version.ts'
import { logAdvice } from '../src/obs/log-advice.ts'
import { logEvents } from '../src/obs/log-events.ts'
import { createMetrics } from '../src/obs/metrics.ts'
import { readSources } from './support/house/imports.ts'
import { loggedEvents } from './support/house/log-calls.ts'
import {
  brokenLinks,
  longPages,
  longParagraphs,
  namesInTable,
  namesMissing,
  pagesOf,
  settingNames,
  testsMissing,
  unknownScripts,
  unprovenRules,
  untestedFindings,
} from './support/house/page-rules.ts'
import { root, textFiles } from './support/house/repository.ts'
import { freeSettings } from './support/kubernetes/chart-settings.ts'
import { alertsOf } from './support/monitoring/quick-rules.ts'
import { readRunbooks } from './support/monitoring/runbooks.ts'
import { shippedRules } from './support/monitoring/shipped.ts'

const files = textFiles()
const pages = pagesOf(files)
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
  scripts: Record<string, string>
}
/** No text of the house, yet pages link to it: LICENSE, and the pictures of the console. */
const linkable = [
  ...files,
  { path: 'LICENSE', text: '' },
  ...readdirSync(join(root, 'docs/console')).map((name) => ({ path: `docs/console/${name}`, text: '' })),
]

function page(path: string) {
  const found = files.find((file) => file.path === path)
  if (found === undefined) throw new Error(`${path} does not exist`)
  return found
}

test('every relative link leads somewhere', () => {
  expect(brokenLinks(linkable)).toEqual([])
})

/** References, measurements and records: long by nature, and not on the path of a user. */
const references =
  /^(CHANGELOG|deploy\/monitoring\/runbooks|docs\/(configuration|metrics|errors|log-events|invariants|gotchas|use\/http|change\/(benchmarks|edges|specification)))\.md$/
const prose = pages.filter(({ path }) => !references.test(path))

test('no page takes more than ten minutes to read, no paragraph more than half a minute', () => {
  expect(longPages(prose, 1500)).toEqual([])
  expect(longParagraphs(prose, 80)).toEqual([])
})

test('each alert has one runbook, and each runbook an alert', () => {
  expect(
    readRunbooks()
      .map(({ alert }) => alert)
      .toSorted(),
  ).toEqual([...alertsOf(shippedRules()).keys()].toSorted())
})

test('each runbook answers the four questions, and says what to look at, what to do, when it is over and what it never means', () => {
  for (const { alert, text } of readRunbooks()) {
    expect(text, alert).toMatch(/^\*\*Readers\.\*\* Missing: .+\. Late: .+\. Resume: .+\. Survive: .+\.$/m)
    for (const part of ['Look', 'Do', 'Over', 'It never means']) expect(text, alert).toContain(`**${part}**`)
  }
})

test('every npm script that a page names exists', () => {
  expect(unknownScripts(pages, Object.keys(manifest.scripts))).toEqual([])
})

test('the generated pages are what `npm run docs` would write', () => {
  for (const [name, text] of Object.entries(generatedPages())) {
    expect(page(`docs/${name}`).text, `run npm run docs: ${name}`).toBe(text)
  }
})

test('every setting that the source names is in the docs', () => {
  const names = settingNames(files.filter(({ path }) => path.startsWith('src/')))
  expect(names.size).toBeGreaterThan(20)
  expect(namesMissing(names, page('docs/configuration.md'))).toEqual([])
})

test('every setting that a page names is one that the source knows', () => {
  const known = settingNames(files.filter(({ path }) => path.startsWith('src/')))
  const unknown = [...settingNames(pages)].filter(
    (name) => !known.has(name) && !known.has(name.replace(/_FILE$/, '')),
  )
  expect(unknown).toEqual([])
})

test('the Helm chart takes every setting that it does not give itself: deploy/helm/values.schema.json', () => {
  const { properties } = JSON.parse(page('deploy/helm/values.schema.json').text) as {
    properties: { settings: { properties: object; additionalProperties: boolean } }
  }
  expect(Object.keys(properties.settings.properties).sort()).toEqual(freeSettings.toSorted())
  expect(properties.settings.additionalProperties).toBe(false)
})

test('every metric is in the docs, and every metric that a page names exists', async () => {
  const scrape = await createMetrics({ version: VERSION }).scrape()
  const names = [...scrape.matchAll(/^# HELP (bridge_\w+)/gm)].map(([, name = '']) => name)
  expect(names.length).toBeGreaterThan(20)
  expect(namesMissing(names, page('docs/metrics.md'))).toEqual([])
  const named = new Set(pages.flatMap(({ text }) => text.match(/\bbridge_[a-z0-9_]+\b/g) ?? []))
  expect([...named].filter((name) => !names.includes(name.replace(/_(bucket|sum|count)$/, '')))).toEqual([])
})

const loggedLevels = loggedEvents(readSources(root, 'src'), new Set(Object.keys(logEvents)))

test('every log event of the list is logged somewhere', () => {
  expect(Object.keys(logEvents).filter((event) => !loggedLevels.has(event))).toEqual([])
})

test('every log event at warn and error says what to do, and no advice is on one that is for information', () => {
  const isBad = (event: string): boolean =>
    ['warn', 'error'].some((level) => loggedLevels.get(event)?.has(level) === true)
  expect(
    Object.keys(logEvents).filter((event) => isBad(event) && !Object.hasOwn(logAdvice, event)),
    'add to src/obs/log-advice.ts',
  ).toEqual([])
  expect(Object.keys(logAdvice).filter((event) => !isBad(event))).toEqual([])
})

test('the lists of log events are in the order of their names, so that what begins alike stands together', () => {
  expect(Object.keys(logAdvice)).toEqual(Object.keys(logAdvice).toSorted())
  expect(Object.keys(logEvents)).toEqual(Object.keys(logEvents).toSorted())
})

test('every page of the docs that the program names exists', () => {
  const named = files
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap(({ text }) => text.match(/\bdocs\/[\w/-]+\.md/g) ?? [])
  expect(named.length).toBeGreaterThan(20)
  expect([...new Set(named)].filter((path) => !files.some((file) => file.path === path))).toEqual([])
})

test('every test that guards a rule exists under that title', () => {
  expect(testsMissing(page('docs/invariants.md'), files)).toEqual([])
})

test('every rule of the specification has a proof for the server and for the client', () => {
  const checklist = page('docs/change/specification.md')
  expect(testsMissing(checklist, files)).toEqual([])
  expect(unprovenRules(checklist)).toEqual([])
  expect(checklist.text.match(/^\d+\. /gm)?.length).toBeGreaterThan(80)
})

test('every finding of the reviews has a test, or says why it has none', () => {
  const findings = page('docs/change/edges.md')
  expect(testsMissing(findings, files)).toEqual([])
  expect(untestedFindings(findings)).toEqual([])
  expect(findings.text.match(/^\d+\. /gm)?.length).toBeGreaterThan(80)
})

test('the version is the one of package.json', () => {
  expect(VERSION).toBe(manifest.version)
})

test('each rule sees a wrong page', () => {
  const wrong = {
    path: 'docs/a.md',
    text: '# One two\n[a](b.md) [c](#three) `[x](y)` [d](../src) [e](#one-two)\n',
  }
  const sample = [wrong, { path: 'src/x.ts', text: '' }]
  expect(brokenLinks(sample)).toEqual(['docs/a.md: b.md leads nowhere', 'docs/a.md: #three names no heading'])
  const words = (count: number) => Array(count).fill('word').join(' ')
  const long = {
    path: 'b.md',
    text: `# A\n${words(5)}\n\n- ${words(3)}\n- ${words(3)}\n\n\`\`\`\n${words(9)}\n\`\`\`\n`,
  }
  expect(longParagraphs([long], 4)).toEqual([`b.md: 5 words in "${words(5)}…"`])
  expect([longPages([long], 10), longPages([long], 11)]).toEqual([['b.md: 11 words, more than 10'], []])
  const command = { path: 'a.md', text: 'npm run demo, npm run demos, npm test' }
  expect(unknownScripts([command], ['demo', 'test'])).toEqual(['a.md: there is no script demos'])
  expect(namesMissing(['BRIDGE_A'], { path: 'a.md', text: 'BRIDGE_AB, BRIDGE_A_B' })).toEqual([
    'a.md: BRIDGE_A is missing',
  ])
  const rule = { path: 'a.md', text: '- `test/x.ts`: "holds"\n- `test/x.ts`: "hold"' }
  expect(testsMissing(rule, [{ path: 'test/x.ts', text: "it('holds', …)" }])).toEqual([
    'a.md: test/x.ts has no test "hold"',
  ])
  expect(namesInTable('## A\n| `x`, `y` | `z` |\n## B\n| `w` | |\n', 'A')).toEqual(['x', 'y'])
  const proof = '`test/x.ts`: "holds"'
  const checklist = `1. One\n   - server: ${proof}\n   - client: not asked: a reason long enough\n2. Two\n   - server: soon\n`
  expect(unprovenRules({ path: 'a.md', text: checklist })).toEqual([
    'a.md: "2. Two" has no proof for the server',
    'a.md: "2. Two" has no proof for the client',
  ])
  const finding = { path: 'a.md', text: `## A\n1. One\n   - ${proof}\n2. Two\n   - not tested: no\n## B\n` }
  expect(untestedFindings(finding)).toEqual(['a.md: "2. Two" has neither a test nor a reason'])
  expect([...settingNames([{ path: 'a', text: 'BRIDGE_A BRIDGE_* BRIDGE_B_' }])]).toEqual(['BRIDGE_A'])
})
