/**
 * Defines the layout of `src/`: the level of each folder, what it does, the order of its inner folders, and the door
 * files through which other folders use it. `ARCHITECTURE.md` prints the same table.
 */
import type { Breach } from './house-rules.ts'
import type { SourceFile } from './imports.ts'

/** One folder of `src/`, or one file at its top. */
export interface Area {
  name: string
  /** One plain line, printed in `ARCHITECTURE.md`. */
  does: string
  /** Inner folders from the bottom up, `.` for the area's own files. Each imports only those before it. */
  inner?: readonly string[]
  /** The files that other areas may import, or `every file` for a library of independent pieces. */
  doors: readonly string[] | 'every file'
}

/** The floors from the top down. Files import only from lower floors, not from higher ones or the same. */
export const floors: readonly (readonly Area[])[] = [
  [{ name: 'main', does: 'passes arguments and environment in, and the exit code out', doors: [] }],
  [
    {
      name: 'cli',
      does: 'the commands of `bridge`, the doctor, and the client of a running bridge that they share',
      inner: ['terminal', 'client', 'doctor', 'commands', '.'],
      doors: ['main.ts'],
    },
  ],
  [
    {
      name: 'app',
      does: 'starts what the chosen roles need, in named steps, and stops it again',
      doors: ['app.ts'],
    },
  ],
  [
    {
      name: 'ingest',
      does: 'role `poller`: polls the upstream, fills overflows, reconciles days, publishes',
      inner: ['writer-state', 'machine', 'poller', 'reconciliation', 'funds', 'exchanges', '.'],
      doors: [
        'ingest.ts',
        'status-messages.ts',
        'writer-state/absence.ts',
        'writer-state/poller-writer.ts',
        'writer-state/repair-commit.ts',
      ],
    },
    {
      name: 'webhooks',
      does: 'role `webhooks`: delivers events to endpoints, with retries, replays and a history of attempts',
      inner: [
        'address',
        'endpoints',
        'delivery-state',
        'send',
        'attempts',
        'worker',
        'commands',
        'replay',
        'health',
        '.',
      ],
      doors: ['channels.ts', 'wiring.ts', 'address/rules.ts'],
    },
    {
      name: 'streams',
      does: 'role `feed`: the live feed over WebSocket and server-sent events',
      inner: ['limits', 'fanout', 'transport', 'management', '.'],
      doors: ['channels.ts', 'streams.ts'],
    },
    {
      name: 'console',
      does: 'role `console`: the page in the browser over the API, whose own code is in `page`',
      doors: ['console.ts'],
    },
    {
      name: 'sandbox',
      does: 'the synthetic upstream: a market, its scenarios, plans, limits and faults',
      doors: ['sandbox.ts', 'scenario-list.ts'],
    },
  ],
  [
    {
      name: 'api',
      does: 'role `api`: pull, tokens, status, the mirror of the upstream API, OpenAPI and AsyncAPI',
      inner: ['mirror', 'openapi', 'asyncapi', 'routes', 'operations', 'journey', '.'],
      doors: [
        'api.ts',
        'mirror/fund-routes.ts',
        'mirror/item-routes.ts',
        'mirror/item-store.ts',
        'mirror/paging.ts',
        'mirror/reference-routes.ts',
        'mirror/refusal.ts',
        'mirror/router.ts',
        'openapi/upstream-document.ts',
        'routes/me-route.ts',
        'routes/status.ts',
      ],
    },
  ],
  [
    {
      name: 'log-kafka',
      does: 'the log on Kafka: one transaction per commit, leader election, shards, tables',
      inner: ['client', 'topics', 'group', 'reading', 'writer', 'tables', 'shards', '.'],
      doors: ['channels.ts', 'inspect.ts', 'log.ts', 'repair.ts'],
    },
    {
      name: 'log-embedded',
      does: 'the log in one SQLite file, its backup and restore',
      doors: [
        'backup-note.ts',
        'backup.ts',
        'lock.ts',
        'log.ts',
        'private-files.ts',
        'restore.ts',
        'retention.ts',
      ],
    },
  ],
  [{ name: 'log-shared', does: 'what the adapters of the log have in common', doors: 'every file' }],
  [
    { name: 'settings', does: 'reads `BRIDGE_*` and `.env` into checked settings', doors: 'every file' },
    {
      name: 'audit',
      does: 'who changed what: records changes in a journal of the log, and lists them',
      doors: 'every file',
    },
  ],
  [{ name: 'registry', does: 'tokens, tenants and endpoints, on tables of the log', doors: 'every file' }],
  [
    {
      name: 'governor',
      does: 'decides when to poll: quota ledger, rate limits, arrival profile, schedule',
      inner: ['quota', 'arrivals', 'schedule'],
      doors: 'every file',
    },
  ],
  [
    {
      name: 'archive',
      does: 'the ordered, indexed copy of the log on disk, and the recent events in memory',
      inner: ['store', 'reading', 'items', 'replica', '.'],
      doors: 'every file',
    },
  ],
  [{ name: 'upstream', does: 'the typed client of the upstream API', doors: 'every file' }],
  [
    {
      name: 'http',
      does: 'listeners, authentication, problem answers and the self-description of routes',
      inner: ['audit', 'bounds', 'schemas', '.'],
      doors: 'every file',
    },
  ],
  [
    {
      name: 'log',
      does: 'the port of the log: events, tables, shards, journal, requests',
      doors: 'every file',
    },
  ],
  [{ name: 'obs', does: 'the logger, every metric, health checks', doors: 'every file' }],
  [{ name: 'storage', does: 'SQLite', doors: 'every file' }],
  [{ name: 'lifecycle', does: 'clock, signals, supervision and orderly release', doors: 'every file' }],
  [
    {
      name: 'core',
      does: 'pure values: item, event, cursor, filter, calendar, signature',
      inner: ['.', 'calendar', 'filter'],
      doors: 'every file',
    },
  ],
  [{ name: 'errors', does: '`BridgeError` and its closed list of codes', doors: 'every file' }],
]

/** The published client, the one thing outside `src/` that is imported: commands read streams through it. */
const CLIENT = 'clients/typescript/src/'

/** The area of a file, and its folder inside the area (`.` for the area's own files). */
function placeOf(path: string): { area: string; inner: string; file: string } {
  const [area = '', ...rest] = path.replace(/^src\//, '').split('/')
  if (rest.length === 0) return { area: area.replace(/\.ts$/, ''), inner: '.', file: area }
  return { area, inner: rest.length > 1 ? (rest[0] ?? '.') : '.', file: rest.join('/') }
}

/** Imports, types included, go to lower floors; inside an area, to inner folders that come before. */
export function wrongDirections(files: SourceFile[], plan = floors): Breach[] {
  const floorOf = new Map(plan.flatMap((areas, floor) => areas.map(({ name }) => [name, floor])))
  const areas = new Map(plan.flat().map((area) => [area.name, area]))
  return files.flatMap(({ path, imports }) => {
    const from = placeOf(path)
    const own = areas.get(from.area)
    if (own === undefined) return [`${path}: \`${from.area}\` is not on the plan of src/`]
    if (own.inner !== undefined && !own.inner.includes(from.inner)) {
      return [`${path}: \`${from.inner}\` has no place in the order of \`${from.area}\``]
    }
    return imports.flatMap(({ target }) => {
      if (target === null) return []
      if (from.area === 'cli' && target.startsWith(CLIENT)) return []
      if (!target.startsWith('src/')) return [`${path}: imports ${target}, which is outside src`]
      const to = placeOf(target)
      if (to.area === from.area) {
        const order = own.inner ?? []
        const upwards = order.indexOf(to.inner) > order.indexOf(from.inner)
        return upwards ? [`${path}: \`${from.inner}\` may not import \`${to.inner}\` (${target})`] : []
      }
      const below = (floorOf.get(to.area) ?? -1) > (floorOf.get(from.area) ?? 0)
      return below ? [] : [`${path}: \`${from.area}\` may not import \`${to.area}\` (${target})`]
    })
  })
}

/** Other areas import only an area's doors. */
export function closedDoors(files: SourceFile[], plan = floors): Breach[] {
  const areas = new Map(plan.flat().map((area) => [area.name, area]))
  return files.flatMap(({ path, imports }) =>
    imports.flatMap(({ target }) => {
      if (target === null || !target.startsWith('src/')) return []
      const to = placeOf(target)
      const doors = areas.get(to.area)?.doors ?? []
      if (to.area === placeOf(path).area || doors === 'every file' || doors.includes(to.file)) return []
      return [`${path}: ${target} is no door of \`${to.area}\``]
    }),
  )
}

/** Doors that are no file, or that no other area imports. */
export function unusedDoors(files: SourceFile[], plan = floors): Breach[] {
  const used = new Set(
    files.flatMap(({ path, imports }) =>
      imports.flatMap(({ target }) =>
        target !== null && placeOf(target).area !== placeOf(path).area ? [target] : [],
      ),
    ),
  )
  return plan.flat().flatMap(({ name, doors }) => {
    if (doors === 'every file') return []
    return doors.flatMap((door) =>
      used.has(`src/${name}/${door}`) ? [] : [`src/${name}/${door}: nobody uses this door`],
    )
  })
}

/** The plan as `ARCHITECTURE.md` prints it: one row an area, from the top floor down. */
export function printedPlan(plan = floors): string {
  const rows = plan.flatMap((areas, index) =>
    areas.map(({ name, does, inner, doors }) => {
      const order = (inner ?? []).filter((folder) => folder !== '.').join(' → ')
      const entrances = doors === 'every file' ? doors : doors.map((door) => `\`${door}\``).join(', ')
      return `| ${plan.length - index} | \`${name}\` | ${does} | ${order} | ${entrances} |`
    }),
  )
  const head =
    '| Floor | Folder | What it does | Inner folders, from the bottom up | Doors |\n|---|---|---|---|---|'
  return [head, ...rows].join('\n')
}
