/** Loads the compose files by compose's own library, and holds the production ones to their rules. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { VERSION } from '../../../src/core/version.ts'
import { fileNames } from '../../../src/settings/environment.ts'
import { settingNames } from '../../../src/settings/schema.ts'
import { loadSettings } from '../../../src/settings/settings.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { type ComposeProject, loadCompose } from '../../support/compose/load.ts'
import { root } from '../../support/house/repository.ts'
import { createTestAuthority } from '../../support/test-certificates.ts'
import { hasTool, runTool } from '../../support/tools.ts'

const FOLDER = 'deploy/compose'
const EXAMPLE = `${FOLDER}/example.env`
const VARIANTS = ['embedded', 'kafka'] as const

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const authority = createTestAuthority()
const isHere = hasTool('go', 'golang-go')
const projects = new Map<string, ComposeProject>()
if (isHere)
  for (const name of VARIANTS)
    projects.set(name, await loadCompose(EXAMPLE, [`${FOLDER}/compose.yml`, `${FOLDER}/${name}.yml`]))

describe.skipIf(!isHere).each(VARIANTS)('the production compose with %s.yml', (name) => {
  const project = projects.get(name) ?? { services: {} }
  const services = Object.entries(project.services)
  const bridges = services.filter(([, { image }]) => image.startsWith('disclosure-bridge'))

  test('has something in front, something to watch, and bridges', () => {
    const names = services.map(([service]) => service)
    expect(names).toEqual(expect.arrayContaining(['proxy', 'prometheus', 'alertmanager', 'grafana']))
    expect(bridges.map(([service]) => service)).toEqual(
      name === 'embedded' ? ['bridge'] : ['poller-1', 'poller-2', 'reader-1', 'reader-2', 'webhooks'],
    )
  })

  test.each(services)('%s is bounded, closed, rotated, restarted and watched', (_, service) => {
    expect(service).toMatchObject({
      restart: 'unless-stopped',
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.stringMatching(/^\d+$/),
      cpus: expect.any(Number),
      pids_limit: expect.any(Number),
      ulimits: { nofile: { soft: 65_536, hard: 65_536 } },
      logging: {
        driver: 'local',
        options: { 'max-size': expect.any(String), 'max-file': expect.any(String) },
      },
      healthcheck: { test: expect.arrayContaining(['CMD']) },
    })
    expect(service.privileged).toBeUndefined()
    expect(service.image).toMatch(/^[\w./-]+:v?\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$/)
  })

  test('only the proxy is reached from outside, and may do more than nothing', () => {
    const open = services.flatMap(([service, { ports = [] }]) =>
      ports
        .filter(({ host_ip }) => host_ip !== '127.0.0.1')
        .map(({ published }) => `${service} ${published}`),
    )
    expect(open).toEqual(['proxy 443', 'proxy 80'])
    const able = services.filter(([, { cap_add = [] }]) => cap_add.length > 0)
    expect(able.map(([service, { cap_add }]) => [service, cap_add])).toEqual([
      ['proxy', ['NET_BIND_SERVICE']],
    ])
  })

  test('every file that is mounted exists, and secrets are files of one folder', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) => volumes.filter(({ type }) => type === 'bind'))
    expect(mounted.length).toBeGreaterThan(5)
    for (const { source, read_only } of mounted) {
      expect(read_only, source).toBe(true)
      if (!source.endsWith('/certificates')) expect(existsSync(source), source).toBe(true)
    }
    for (const { file } of Object.values(project.secrets ?? {}))
      expect(file).toMatch(/\/deploy\/compose\/secrets\/[a-z-]+$/)
    const page = read('docs/run/compose.md')
    for (const secret of Object.keys(project.secrets ?? {})) expect(page).toContain(`\`${secret}\``)
  })

  test('what writes into a volume of the log has another one for backups', () => {
    const mounted = bridges.flatMap(([, { volumes = [] }]) =>
      volumes.map(({ type, source, target }) => [type, source, target]),
    )
    const own = bridges.map(([service]) => ['volume', service, '/data'])
    expect(mounted).toEqual(name === 'embedded' ? [...own, ['volume', 'backups', '/backups']] : own)
  })

  test.each(bridges)(
    '%s starts with settings that exist, no secret among them, and no warning',
    (_, bridge) => {
      const env = bridge.environment ?? {}
      const known: ReadonlySet<string> = new Set([...settingNames, ...fileNames.keys()])
      expect(Object.keys(env).filter((setting) => !known.has(setting))).toEqual([])
      const given = new Set(bridge.secrets?.map(({ target }) => target))
      const settings = loadSettings(
        { ...env, BRIDGE_HTTP_HOST: '0.0.0.0', BRIDGE_DATA_DIR: '/data' },
        (path) => {
          if (!given.has(path)) throw Object.assign(new Error(path), { code: 'ENOENT' })
          if (path.endsWith('/kafka-ca')) return authority.ca
          return `${path.slice('/run/secrets/'.length)}-0123456789abcdefghijklmnopqrstuvwxyz`
        },
      )
      expect(settings.warnings).toEqual([])
      expect(settings.kafka === null).toBe(name === 'embedded')
      const files = Object.values(env).filter((value) => value.startsWith('/run/secrets/'))
      expect(files.toSorted()).toEqual([...given].toSorted())
    },
  )

  test('Prometheus asks every bridge, and the proxy the ones that serve readers', () => {
    const [{ targets } = { targets: [] }] = parse(read(`${FOLDER}/targets-${name}.yml`)) as {
      targets: string[]
    }[]
    expect(targets).toEqual(bridges.map(([service]) => `${service}:9464`))
    const serving = bridges.filter(([, { environment = {} }]) =>
      /api|^$/.test(environment.BRIDGE_ROLES ?? ''),
    )
    const { PROXY_BRIDGES = '' } = project.services.proxy?.environment ?? {}
    expect(PROXY_BRIDGES.split(' ')).toEqual(serving.map(([service]) => `${service}:8080`))
    for (const [service] of serving) expect(project.services[service]?.networks).toHaveProperty('edge')
  })
})

test.skipIf(!isHere).each(VARIANTS)(
  'every bridge of %s.yml has the settings of bridge.env, but for those that the file itself names',
  async (name) => {
    using directory = temporaryDirectory()
    const folder = join(directory.path, 'deploy/compose')
    cpSync(join(root, FOLDER), folder, { recursive: true })
    writeFileSync(join(folder, 'bridge.env'), 'BRIDGE_ALL_RETENTION=P2Y\nBRIDGE_OPS_HOST=127.0.0.1\n')
    const files = ['compose.yml', `${name}.yml`].map((file) => join(folder, file))
    const { services } = await loadCompose(join(folder, 'example.env'), files)
    const bridges = Object.values(services).filter(({ image }) => image.startsWith('disclosure-bridge'))
    expect(bridges.length).toBeGreaterThan(0)
    for (const { environment } of bridges)
      expect(environment).toMatchObject({ BRIDGE_ALL_RETENTION: 'P2Y', BRIDGE_OPS_HOST: '0.0.0.0' })
  },
)

test.skipIf(!isHere)('a variable that must be given is asked for by name', async () => {
  const files = [`${FOLDER}/compose.yml`, `${FOLDER}/embedded.yml`]
  await expect(loadCompose('deploy/demo.env', files)).rejects.toThrow(/PROXY_SITE|PROXY_TLS/)
})

test.skipIf(!isHere)("compose's own library takes the demo's file", async () => {
  const { services } = await loadCompose('deploy/demo.env', ['docker-compose.yml'])
  expect(Object.keys(services)).toContain('sandbox')
})

test("the bridges' image has the version of the product", () => {
  for (const name of VARIANTS)
    expect(read(`${FOLDER}/${name}.yml`)).toContain(`\${PRODUCT_IMAGE:-disclosure-bridge:${VERSION}}`)
})

test('every variable with the prefix of settings is one, in the files and in the example', () => {
  const known: ReadonlySet<string> = new Set([...settingNames, ...fileNames.keys()])
  const texts = ['compose.yml', 'embedded.yml', 'kafka.yml', 'example.env', 'Caddyfile']
  const named = new Set(texts.flatMap((name) => read(`${FOLDER}/${name}`).match(/BRIDGE_[A-Z_]+/g) ?? []))
  expect(named.size).toBeGreaterThan(10)
  expect([...named].filter((name) => !known.has(name))).toEqual([])
})

test('the example names no setting that compose does not read', () => {
  const texts = ['compose', ...VARIANTS].map((name) => read(`${FOLDER}/${name}.yml`)).join('\n')
  const unread = Object.keys(parseEnv(read(EXAMPLE))).filter(
    (name) => name !== 'COMPOSE_FILE' && !texts.includes(`\${${name}:`),
  )
  expect(unread).toEqual([])
})

test.skipIf(!hasTool('promtool', 'prometheus'))(
  'promtool accepts the configuration of Prometheus',
  async () => {
    const path = join(root, FOLDER, 'prometheus.yml')
    // The paths in it are those in the container.
    const { code, stdout, stderr } = await runTool('promtool', ['check', 'config', '--syntax-only', path])
    expect({ code, said: stdout + stderr }).toMatchObject({
      code: 0,
      said: expect.stringContaining('is valid'),
    })
  },
)
