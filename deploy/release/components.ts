/**
 * Writes the list of components (SBOM) of a release as CycloneDX: Node and the packages of production, with hashes and
 * licenses from the lock file. npm makes it, without the network.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockedPackages, readJson } from './locked-packages.ts'
import type { Release } from './product-folder.ts'

interface Manifest {
  name: string
  dependencies: Record<string, string>
  optionalDependencies: Record<string, string>
  devDependencies?: Record<string, string>
  scripts?: Record<string, string>
}

interface Lock {
  packages: Record<string, unknown>
}

/** What npm writes beside the components: by chance and clock, unless it is replaced. */
interface Bom {
  serialNumber: string
  metadata: { timestamp: string }
}

/** Writes the list into `file`. `work`: a directory for the manifest and lock file of what is released. */
export function writeComponents(work: string, file: string, { root, cpu, epochSeconds }: Release): void {
  const { devDependencies, scripts, ...manifest } = readJson<Manifest>(join(root, 'package.json'))
  const node = `node-linux-${cpu}`
  const released = { ...manifest, optionalDependencies: { [node]: manifest.optionalDependencies[node] } }
  const lock = readJson<Lock>(join(root, 'package-lock.json'))
  const paths = [...lockedPackages(root, cpu).map(({ path }) => path), `node_modules/${node}`]
  const kept = Object.fromEntries(paths.map((path) => [path, lock.packages[path]]))
  // npm names the product by its directory.
  const folder = join(work, manifest.name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify(released))
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ ...lock, packages: { '': released, ...kept } }),
  )
  const bom = JSON.parse(
    execFileSync(
      'npm',
      [
        'sbom',
        '--loglevel=error',
        '--package-lock-only',
        '--sbom-format=cyclonedx',
        '--sbom-type=application',
      ],
      { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
    ),
  ) as Bom
  bom.metadata.timestamp = new Date(epochSeconds * 1000).toISOString()
  bom.serialNumber = ''
  bom.serialNumber = `urn:uuid:${uuidOf(JSON.stringify(bom))}`
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`)
}

/** A UUID of version 8, whose bits are those of the text's hash. */
function uuidOf(text: string): string {
  const [a = '', b = '', c = '', d = '', e = ''] =
    createHash('sha256')
      .update(text)
      .digest('hex')
      .match(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})/)
      ?.slice(1) ?? []
  return `${a}-${b}-8${c}-8${d}-${e}`
}
