/**
 * Builds the image of a release from `deploy/Dockerfile` with buildah, without a daemon, on a stand-in for its base: Node, a shell and an
 * `npm` that copies the packages of this checkout. Then it loads the written archive, and runs the image as its configuration says,
 * and as a pod does.
 */
import { chownSync, copyFileSync, cpSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { baseImage, packImage } from '../../../deploy/release/image.ts'
import { lockedPackages } from '../../../deploy/release/locked-packages.ts'
import { VERSION } from '../../../src/core/version.ts'
import { bridgeEnv, readyLine, temporaryDirectory } from '../../support/bridge-process.ts'
import { root } from '../../support/house/repository.ts'
import { hasKubernetesTools, render, workloadsOf } from '../../support/kubernetes/chart.ts'
import { furnishRoot, startOnReadOnlyRoot } from '../../support/product/empty-root.ts'
import { hasTool, runTool } from '../../support/tools.ts'

const BASE = 'localhost/node-stand-in:1'
const MADE_S = 1_767_682_800
const RELEASE = { root, version: VERSION, cpu: process.arch, epochSeconds: MADE_S, revision: '0a1b2c3' }
/** Storage without a driver of the kernel copies the image with every step. */
const BUILD_LIMIT_MS = 600_000
/** Where a pod of the Helm chart has the files of its Secrets. */
const FILES = 'etc/bridge/files'
const isRoot = process.getuid?.() === 0

interface ImageConfig {
  User: string
  Env: string[]
  Cmd: string[]
  Entrypoint: string[]
  WorkingDir: string
  Volumes: Record<string, unknown>
  Labels: Record<string, string>
  Healthcheck: { Test: string[] }
}

it('is released on a base with a digest only: a tag may name other bytes tomorrow', () => {
  const digest = `node@sha256:${'0a'.repeat(32)}`
  expect(baseImage(digest)).toBe(digest)
  for (const given of ['node:24', 'node', 'node@sha256:0a'])
    expect(() => baseImage(given)).toThrow('--base-image')
})

describe.skipIf(!isRoot || !hasTool('buildah', 'buildah'))('the image, built without a daemon', () => {
  const place = temporaryDirectory()
  let config: ImageConfig
  let archive: string
  /** Its root. */
  let mounted: string

  beforeAll(async () => {
    const buildah = builder(place.path)
    layOutBase(join(place.path, 'base'))
    const base = await buildah('from', 'scratch')
    await buildah('copy', base, join(place.path, 'base'), '/')
    await buildah('config', '--env', 'PATH=/usr/local/bin:/usr/bin:/bin', base)
    await buildah('commit', base, BASE)
    archive = await packImage(BASE, place.path, RELEASE, storageOf(place.path))
    const image = await buildah('pull', '--quiet', `docker-archive:${archive}`)
    const described = JSON.parse(await buildah('inspect', '--type', 'image', image)) as {
      Docker: { config: ImageConfig }
    }
    config = described.Docker.config
    mounted = await buildah('mount', await buildah('from', '--pull-never', image))
  }, BUILD_LIMIT_MS)

  // Its storage holds the image several times.
  afterAll(() => place[Symbol.dispose](), BUILD_LIMIT_MS)

  it('says what it is made of, and has the page of the console', () => {
    expect(config).toMatchObject({ User: '1000:1000', WorkingDir: '/app', Volumes: { '/data': {} } })
    expect(config.Labels).toMatchObject({
      'org.opencontainers.image.version': VERSION,
      'org.opencontainers.image.revision': '0a1b2c3',
    })
    expect(statSync(join(mounted, 'app/src/console/page.built.json')).size).toBeGreaterThan(0)
    expect(statSync(join(mounted, 'app/src/main.ts')).mtimeMs).toBe(MADE_S * 1000)
    // A new named volume takes the owner of the folder that it covers.
    expect(statSync(join(mounted, 'backups'))).toMatchObject({ uid: 1000, gid: 1000 })
    expect(statSync(archive).size).toBeGreaterThan(50 * 1024 * 1024)
  })

  it(
    'is the same again, byte for byte',
    async () => {
      const sumOf = async (file: string): Promise<string> =>
        (await runTool('sha256sum', [file])).stdout.slice(0, 64)
      const sum = await sumOf(archive)
      expect(await sumOf(await packImage(BASE, place.path, RELEASE, storageOf(place.path)))).toBe(sum)
    },
    BUILD_LIMIT_MS,
  )

  it('runs as user 1000 on a read-only root, and its health check tells a running bridge', async () => {
    const { BRIDGE_DATA_DIR, ...settings } = bridgeEnv({ url: 'http://127.0.0.1:9/v2', key: 'none' }, '/data')
    const ports = { BRIDGE_HTTP_PORT: '8080', BRIDGE_OPS_PORT: '9464' }
    const env = { ...settings, ...ports, ...environmentOf(config) }
    expect(env).toMatchObject({ BRIDGE_DATA_DIR })
    const { start, beside } = startOnReadOnlyRoot(mounted, { ...config, env, writable: '/data' })
    const bridge = start([...config.Entrypoint, ...config.Cmd])
    const [kind, ...check] = config.Healthcheck.Test
    expect(kind).toBe('CMD')
    try {
      expect(await readyLine(bridge)).toMatchObject({ log: 'embedded', http: 'http://0.0.0.0:8080' })
      expect(await beside(bridge, check).ended).toBe(0)
      const elsewhere = beside(bridge, ['/bin/sh', '-c', 'BRIDGE_OPS_PORT=9 exec node deploy/health.ts'])
      expect(await elsewhere.ended).toBe(1)
      const write = beside(bridge, ['/bin/sh', '-c', 'echo x > /app/file'])
      await write.ended
      expect(write.stderr()).toContain('Read-only file system')
    } finally {
      await bridge.stop()
    }
    expect(await bridge.ended).toBe(0)
  })

  it.skipIf(!hasKubernetesTools())(
    'runs with what a pod of the Helm chart gives it, and answers its probes',
    async () => {
      const { resources } = await render('embedded')
      const pod = workloadsOf(resources).get('bridge')?.spec.template.spec
      if (pod === undefined) throw new Error('the chart has no bridge')
      const { env: given, args, livenessProbe, readinessProbe, startupProbe, ports } = pod.containers[0]
      // As a kubelet lays out the files of a Secret for the group of fsGroup.
      mkdirSync(join(mounted, FILES), { recursive: true })
      for (const name of ['upstream-key', 'admin-token', 'secret-key']) {
        const file = join(mounted, FILES, name)
        writeFileSync(file, `${name}-of-32-characters-or-more-5f2a8c\n`, { mode: 0o440 })
        chownSync(file, 0, 1000)
      }
      const env = {
        ...environmentOf(config),
        ...Object.fromEntries(given.map(({ name, value }) => [name, value])),
      }
      const { start, beside } = startOnReadOnlyRoot(mounted, { ...config, env, writable: '/data' })
      const bridge = start([...config.Entrypoint, ...args])
      try {
        expect(await readyLine(bridge)).toMatchObject({ log: 'embedded', http: 'http://0.0.0.0:8080' })
        const statuses = [startupProbe, livenessProbe, readinessProbe].map(
          async ({ httpGet: { path, port } }) => {
            const number = ports.find(({ name }) => name === port)?.containerPort
            const ask = `fetch('http://127.0.0.1:${number}${path}').then(({ status }) => process.exit(status === 200 ? 0 : 1))`
            return await beside(bridge, ['node', '-e', ask]).ended
          },
        )
        expect(await Promise.all(statuses)).toEqual([0, 0, 0])
      } finally {
        await bridge.stop()
      }
      expect(await bridge.ended).toBe(0)
    },
  )
})

/** Options of buildah for a storage of its own. */
function storageOf(place: string): string[] {
  return ['--root', join(place, 'storage'), '--runroot', join(place, 'run'), '--storage-driver', 'vfs']
}

/** Runs buildah on that storage; resolves with what it printed. */
function builder(place: string): (...args: string[]) => Promise<string> {
  return async (...args) => {
    const { code, stdout, stderr } = await runTool('buildah', [...storageOf(place), ...args])
    expect(code, `${args[0]}: ${stderr}`).toBe(0)
    return stdout.trim()
  }
}

/** What the Dockerfile uses of Node's image. npm is a stand-in: it brings what this checkout has, without the network. */
function layOutBase(folder: string): void {
  mkdirSync(join(folder, 'usr/local/bin'), { recursive: true })
  copyFileSync(process.execPath, join(folder, 'usr/local/bin/node'))
  furnishRoot(folder, ['/bin/sh', '/bin/cp', '/usr/bin/install'], [process.execPath])
  for (const { path } of lockedPackages(root, process.arch)) {
    const filter = (source: string): boolean => basename(source) !== 'node_modules'
    cpSync(join(root, path), join(folder, 'packages', path), { recursive: true, filter })
  }
  const npm = '#!/bin/sh\n[ "$1" = ci ] && exec cp -r /packages/node_modules .\n'
  writeFileSync(join(folder, 'usr/local/bin/npm'), npm, { mode: 0o755 })
}

function environmentOf({ Env }: ImageConfig): Record<string, string> {
  return Object.fromEntries(
    Env.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
  )
}
