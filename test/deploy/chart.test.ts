/**
 * Compares the Helm chart with the product: version, names of settings, and the rules and dashboards that it links to. helm does not
 * run here; `integration/kubernetes` runs it.
 */
import { lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { VERSION } from '../../src/core/version.ts'
import { fileNames } from '../../src/settings/environment.ts'
import { settingNames } from '../../src/settings/schema.ts'
import { root } from '../support/house/repository.ts'
import { secretSettings } from '../support/kubernetes/chart-settings.ts'

const CHART = join(root, 'deploy/helm')
const read = (name: string): string => readFileSync(join(CHART, name), 'utf8')

test('the chart has the version of the product', () => {
  expect(parse(read('Chart.yaml'))).toMatchObject({ version: VERSION, appVersion: VERSION })
})

test('each setting that a template names is one of the product, and each secret can be given', () => {
  const templates = readdirSync(join(CHART, 'templates')).map((name) => read(`templates/${name}`))
  const named = new Set(templates.join('\n').match(/\b(BRIDGE|OTEL)_[A-Z_]+[A-Z]\b/g))
  const known: ReadonlySet<string> = new Set([...settingNames, ...fileNames.keys()])
  expect([...named].filter((name) => !known.has(name))).toEqual([])
  const given = secretSettings.filter((name) => named.has(name) || named.has(`${name}_FILE`))
  expect(given).toEqual(secretSettings)
})

test('rules and dashboards of the chart are links to those that compose uses', () => {
  for (const folder of ['rules', 'dashboards']) {
    const link = join(CHART, folder)
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(realpathSync(link)).toBe(join(root, 'deploy/monitoring', folder))
  }
})
