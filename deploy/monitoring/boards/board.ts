/** Lays panels out on boards, and writes a board as Grafana loads it. */
import type { Limit } from './limits.ts'
import { ofTargets, type Query } from './query.ts'

/** Units of Grafana. */
export type Unit = 'short' | 's' | 'bytes' | 'percentunit' | 'ops' | 'reqps' | 'cpm'

/** One panel. */
export interface Panel {
  /** `number`: the newest value. `graph`: over time. */
  kind: 'number' | 'graph'
  title: string
  /** What it shows and how to read it. */
  about: string
  unit: Unit
  queries: readonly Query[]
  limit?: Limit
  /** Values below 0 are possible. */
  isSigned?: boolean
  /** The only log on which its queries have data. */
  log?: 'kafka' | 'embedded'
}

/** Panels beside one another, below a heading. */
export interface Row {
  title: string
  panels: readonly Panel[]
}

/** One dashboard. */
export interface Board {
  /** Of its file, without its suffix, and the end of its address. */
  uid: string
  title: string
  about: string
  rows: readonly Row[]
}

const WIDTH = 24
const HEIGHTS = { number: 4, graph: 8 }
const MOST_BESIDE = { number: 6, graph: 3 }
const DATASOURCE = { type: 'prometheus', uid: '$' + '{datasource}' }
/** Links between boards go by it. */
const TAG = 'disclosure-bridge'

/** The board as JSON. */
export function boardJson(board: Board): string {
  const { uid, title, about } = board
  const content = {
    uid,
    title,
    description: about,
    schemaVersion: 39,
    editable: false,
    refresh: '10s',
    time: { from: 'now-3h', to: 'now' },
    timezone: 'Europe/London',
    tags: [TAG],
    links: [linkToBoards()],
    templating: { list: variables() },
    annotations: { list: annotations() },
    panels: placed(board.rows),
  }
  return `${JSON.stringify(content, null, 2)}\n`
}

/** Every query of the board. */
export function queriesOf({ rows }: Board): string[] {
  return rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)))
}

/** What marks the graphs: what changed at that moment. Each is an expression that is above 0 for two minutes. */
export function annotationQueries(): { name: string; expr: string; textFormat: string; iconColor: string }[] {
  const transitions = 'bridge_leader_transitions_total'
  const known = ofTargets('max_over_time(bridge_build_info[1d] offset 2m)')
  return [
    {
      name: 'Versions',
      expr:
        `group by (installation, version) (${ofTargets('bridge_build_info')}) ` +
        `unless group by (installation, version) (${known})`,
      textFormat: '{{installation}} has version {{version}}',
      iconColor: 'blue',
    },
    {
      name: 'Changes of leader',
      expr: `max by (installation, instance) (${ofTargets(
        `(changes(${transitions}[2m]) > 0 or (${transitions} > 0 unless ${transitions} offset 2m))`,
      )})`,
      textFormat: '{{installation}}: {{instance}} began or ceased to lead',
      iconColor: 'orange',
    },
  ]
}

function linkToBoards() {
  return {
    title: 'Boards',
    type: 'dashboards',
    tags: [TAG],
    asDropdown: false,
    includeVars: true,
    keepTime: true,
    targetBlank: false,
  }
}

function variables() {
  const chosen = (name: string, label: string, query: string) => ({
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  })
  return [
    {
      name: 'datasource',
      label: 'Prometheus',
      type: 'datasource',
      query: 'prometheus',
      refresh: 1,
      current: {},
    },
    chosen('installation', 'Installation', 'label_values(bridge:target:info, installation)'),
    chosen(
      'instance',
      'Instance',
      'label_values(bridge:target:info{installation=~"$installation"}, instance)',
    ),
  ]
}

function annotations() {
  return annotationQueries().map(({ name, expr, textFormat, iconColor }) => ({
    name,
    enable: true,
    datasource: DATASOURCE,
    expr,
    step: '30s',
    titleFormat: name,
    textFormat,
    iconColor,
  }))
}

/** The panels with their places: as many beside one another as are easy to read. */
function placed(rows: readonly Row[]) {
  let id = 0
  let y = 0
  return rows.flatMap(({ title, panels }) => {
    const heading = {
      id: ++id,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: WIDTH, h: 1 },
      panels: [],
    }
    y += 1
    const lines = inLines(panels).flatMap((line) => {
      const [first] = line
      const h = HEIGHTS[first?.kind ?? 'graph']
      const w = Math.floor(WIDTH / line.length)
      const drawn = line.map((panel, index) => panelJson(panel, ++id, { x: index * w, y, w, h }))
      y += h
      return drawn
    })
    return [heading, ...lines]
  })
}

/** Panels of one kind, as even as possible. */
function inLines(panels: readonly Panel[]): Panel[][] {
  const lines: Panel[][] = []
  for (const kind of ['number', 'graph'] as const) {
    const those = panels.filter((panel) => panel.kind === kind)
    const count = Math.ceil(those.length / MOST_BESIDE[kind])
    for (let line = 0; line < count; line++) {
      const from = Math.ceil((line * those.length) / count)
      lines.push(those.slice(from, Math.ceil(((line + 1) * those.length) / count)))
    }
  }
  return lines
}

function panelJson(panel: Panel, id: number, gridPos: { x: number; y: number; w: number; h: number }) {
  const { title, about, unit, queries, limit, isSigned = false } = panel
  const isGraph = panel.kind === 'graph'
  const custom = { ...(isGraph && { custom: { thresholdsStyle: { mode: limit ? 'dashed' : 'off' } } }) }
  return {
    id,
    type: isGraph ? 'timeseries' : 'stat',
    title,
    description: about,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: {
      defaults: { unit, ...(!isSigned && { min: 0 }), thresholds: thresholds(limit), ...custom },
      overrides: [],
    },
    ...(!isGraph && {
      options: { colorMode: limit ? 'value' : 'none', reduceOptions: { calcs: ['lastNotNull'] } },
    }),
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      expr,
      legendFormat: legend,
    })),
  }
}

function thresholds(limit: Limit | undefined) {
  const colours = limit?.bad === 'below' ? ['red', 'green'] : ['green', 'red']
  const [below, above] = colours
  const steps = [{ color: below, value: null }, ...(limit ? [{ color: above, value: limit.value }] : [])]
  return { mode: 'absolute', steps }
}
