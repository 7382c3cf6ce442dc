/**
 * Makes what people install, from a checkout after `npm ci`: a release archive, a Debian package, the list of their
 * components, the Helm chart and checksums. The same commit gives the same bytes. It downloads nothing.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { packArchive } from './archive.ts'
import { packChart } from './chart.ts'
import { writeComponents } from './components.ts'
import { packDebian } from './debian-package.ts'
import { readJson } from './locked-packages.ts'
import { layOutProduct, type Release } from './product-folder.ts'
import { releasedSource } from './source.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** Writes the files into `target`, and returns their paths. */
async function makeRelease(release: Release, target: string): Promise<string[]> {
  const work = mkdtempSync(join(tmpdir(), 'bridge-release-'))
  try {
    const name = `bridge-${release.version}-linux-${release.cpu}`
    const product = join(work, name)
    layOutProduct(product, release)
    mkdirSync(target, { recursive: true })
    const archive = join(target, `${name}.tar.gz`)
    await packArchive(product, archive)
    const components = join(target, `${name}.cdx.json`)
    writeComponents(work, components, release)
    const chart = await packChart(join(work, 'chart'), target, release)
    return [archive, components, packDebian(join(work, 'debian'), product, target, release), chart]
  } finally {
    rmSync(work, { recursive: true })
  }
}

/** Lines that `sha256sum -c` reads. */
function checksums(files: readonly string[]): string {
  const line = (file: string): string =>
    `${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${basename(file)}\n`
  return files.map(line).join('')
}

const { out } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } }).values
const { version } = readJson<{ version: string }>(join(ROOT, 'package.json'))
const source = releasedSource(ROOT, process.env)
const files = await makeRelease({ root: ROOT, version, cpu: process.arch, ...source }, out)
const sums = checksums(files)
writeFileSync(join(out, 'SHA256SUMS'), sums)
process.stdout.write(sums)
