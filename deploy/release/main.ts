/**
 * Makes what people install, from a checkout after `npm ci`: a release archive, a Debian package, the list of their
 * components, the Helm chart and checksums; with `--base-image node@sha256:…` also the container image. The same commit gives the
 * same bytes. Without the image it downloads nothing.
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
import { baseImage, packImage } from './image.ts'
import { readJson } from './locked-packages.ts'
import { layOutProduct, type Release } from './product-folder.ts'
import { releasedSource } from './source.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** Writes the files into `target`, and returns their paths. */
async function makeRelease(release: Release, target: string, base: string | null): Promise<string[]> {
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
    const files = [archive, components, packDebian(join(work, 'debian'), product, target, release), chart]
    return base === null ? files : [...files, await packImage(base, target, release)]
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

const { out, 'base-image': given } = parseArgs({
  options: { out: { type: 'string', default: join(ROOT, 'dist') }, 'base-image': { type: 'string' } },
}).values
const base = given === undefined ? null : baseImage(given)
const { version } = readJson<{ version: string }>(join(ROOT, 'package.json'))
const source = releasedSource(ROOT, process.env)
const files = await makeRelease({ root: ROOT, version, cpu: process.arch, ...source }, out, base)
const sums = checksums(files)
writeFileSync(join(out, 'SHA256SUMS'), sums)
process.stdout.write(sums)
