/** Tests the dashboards as files: generated, well formed, complete, and with limits that the alert rules have too. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { annotationQueries, queriesOf } from '../../deploy/monitoring/boards/board.ts'
import { boards, dashboardFiles, leftOut } from '../../deploy/monitoring/boards/boards.ts'
import { budgetLimit, limitOf, objectiveLimit } from '../../deploy/monitoring/boards/limits.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { root } from '../support/house/repository.ts'

interface Place {
  x: number
  y: number
  w: number
  h: number
}
interface Dashboard {
  uid: string
  title: string
  tags: string[]
  links: { type: string; tags: string[]; includeVars: boolean; keepTime: boolean }[]
  templating: { list: { name: string; type: string }[] }
  annotations: { list: { expr: string; datasource: object }[] }
  panels: {
    id: number
    type: string
    title: string
    gridPos: Place
    datasource?: object
    description?: string
    fieldConfig?: { defaults: { unit: string; thresholds: { steps: { value: number | null }[] } } }
    targets?: { refId: string; expr: string; legendFormat: string }[]
  }[]
}

const FOLDER = join(root, 'deploy/monitoring/dashboards')
const files = readdirSync(FOLDER).map((name) => {
  const text = readFileSync(join(FOLDER, name), 'utf8')
  return { name, text, board: JSON.parse(text) as Dashboard }
})
const DATASOURCE = { type: 'prometheus', uid: '$' + '{datasource}' }

test('the dashboards are what `npm run docs` would write, five and no other', () => {
  expect(Object.fromEntries(files.map(({ name, text }) => [name, text]))).toEqual(dashboardFiles())
  expect(files.map(({ name }) => name)).toEqual([
    'bridge-ingest.json',
    'bridge-storage.json',
    'bridge-streams.json',
    'bridge-webhooks.json',
    'bridge.json',
  ])
})

test('every board has a name of its own, the same variables, and links to the others', () => {
  expect(new Set(files.map(({ board }) => board.uid)).size).toBe(files.length)
  expect(new Set(files.map(({ board }) => board.title)).size).toBe(files.length)
  for (const { name, board } of files) {
    expect(name).toBe(`${board.uid}.json`)
    expect(board.templating.list.map((variable) => variable.name)).toEqual([
      'datasource',
      'installation',
      'instance',
    ])
    expect(board.links).toMatchObject([
      { type: 'dashboards', tags: board.tags, includeVars: true, keepTime: true },
    ])
    expect(board.annotations.list.map(({ expr }) => expr)).toEqual(
      annotationQueries().map(({ expr }) => expr),
    )
  }
})

test.for(files)('$name: ids are unique, and no panel lies on another', ({ board: { panels } }) => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
})

test.for(files)('$name: every panel has a title, a meaning, a unit and chosen data', ({ board }) => {
  for (const panel of board.panels.filter(({ type }) => type !== 'row')) {
    expect(panel, panel.title).toMatchObject({ datasource: DATASOURCE, description: /./ })
    const refs = (panel.targets ?? []).map(({ refId }) => refId)
    expect(new Set(refs).size, panel.title).toBe(refs.length)
    for (const { expr, legendFormat } of panel.targets ?? []) {
      expect(expr, panel.title).toContain('installation=~"$installation"')
      expect(legendFormat, panel.title).toContain('{{installation}}')
      // A share is drawn as a share, and nothing else is.
      const isShare = /_ratio\b|:ratio_|bridge_ready|busy_seconds| \/ /.test(expr)
      expect(panel.fieldConfig?.defaults.unit === 'percentunit', panel.title).toBe(isShare)
    }
  }
})

test('every metric is on a panel, or left out with a reason', () => {
  const shown = new Set(boards.flatMap(queriesOf).flatMap((expr) => expr.match(/\bbridge_\w+/g) ?? []))
  const missing = createMetrics({ version: '0' }).docs.filter(
    ({ name, type }) => !shown.has(type === 'histogram' ? `${name}_bucket` : name) && !(name in leftOut),
  )
  expect(missing.map(({ name }) => name)).toEqual([])
  expect(Object.keys(leftOut).filter((name) => shown.has(name))).toEqual([])
})

test('the limits that panels show are those of the alerts and objectives', () => {
  expect(limitOf('BridgeCopyBehind')).toEqual({ bad: 'above', value: 30 })
  expect(limitOf('BridgeQuotaLow')).toEqual({ bad: 'below', value: 0.1 })
  expect(limitOf('BridgeDiskLow')).toEqual({ bad: 'below', value: 256 * 1024 * 1024 })
  expect(limitOf('BridgeGapOpen')).toEqual({ bad: 'above', value: 1 })
  expect(budgetLimit()).toEqual({ bad: 'above', value: 0.001 })
  expect(['commit', 'publish', 'stream'].map((name) => objectiveLimit(name as 'commit').value)).toEqual([
    1, 1, 0.5,
  ])
  expect(() => limitOf('BridgeNoSuch')).toThrow('BridgeNoSuch')
})

test('Grafana of compose loads the folder of the boards, and begins with one of them', () => {
  const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8')) as {
    services: { grafana: { volumes: string[]; environment: Record<string, string> } }
  }
  const { providers } = parse(
    readFileSync(join(root, 'deploy/monitoring/grafana/dashboards.yml'), 'utf8'),
  ) as { providers: { options: { path: string } }[] }
  const path = providers[0]?.options.path
  expect(services.grafana.volumes).toContain(`./deploy/monitoring/dashboards:${path}:ro`)
  const home = services.grafana.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH
  expect(files.map(({ name }) => `${path}/${name}`)).toContain(home)
})
