/** The list of components (SBOM) that `npm run sbom` prints: complete, and made without the network. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { root } from '../../support/house/repository.ts'
import { runTool } from '../../support/tools.ts'

interface Component {
  name: string
  version: string
  properties: { name: string; value: string }[]
  hashes?: { alg: string }[]
  licenses?: unknown[]
}

interface LockedPackage {
  version: string
  dev?: true
  optional?: true
  cpu?: string[]
  os?: string[]
}

/** A proxy that does not exist: a request to a registry would fail. */
const NO_NETWORK = 'http://127.0.0.1:9'

test('npm run sbom lists every installed package with its hash and license, without the network', async () => {
  using home = temporaryDirectory()
  const env = { HOME: home.path, http_proxy: NO_NETWORK, https_proxy: NO_NETWORK }
  const { code, stdout, stderr } = await runTool('npm', ['run', '--silent', 'sbom'], { env, cwd: root })
  expect([code, stderr]).toEqual([0, ''])
  const { bomFormat, components } = JSON.parse(stdout) as { bomFormat: string; components: Component[] }
  expect(bomFormat).toBe('CycloneDX')
  for (const { name, hashes, licenses = [] } of components) {
    expect(hashes, name).toEqual([expect.objectContaining({ alg: 'SHA-512' })])
    expect(licenses, name).not.toEqual([])
  }
  const isForTests = ({ properties }: Component): boolean =>
    properties.some(({ name }) => name === 'cdx:npm:package:development')
  const shipped = components.filter((component) => !isForTests(component)).map(nameOf)
  expect(new Set(shipped)).toEqual(shippedByLock())
  expect(components.length).toBeGreaterThan(shipped.length)
})

function nameOf({ name, version }: Pick<Component, 'name' | 'version'>): string {
  return `${name}@${version}`
}

/** Packages of the lock file that are there without those for tests, on this machine. */
function shippedByLock(): Set<string> {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>
  }
  const fits = (allowed: string[] | undefined, actual: string): boolean => allowed?.includes(actual) ?? true
  return new Set(
    Object.entries(packages)
      .filter(([path, { dev }]) => path !== '' && dev !== true)
      .filter(([, { cpu, os }]) => fits(cpu, process.arch) && fits(os, process.platform))
      .map(([path, { version }]) => nameOf({ name: path.split('node_modules/').at(-1) ?? '', version })),
  )
}
