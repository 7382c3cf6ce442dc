/**
 * Builds the container image of `deploy/Dockerfile` with buildah, without a daemon, and writes it as an archive that docker and
 * podman load. The same commit on the same base gives the same bytes. The base and its packages may come from the network.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { TAR_OPTIONS } from './archive.ts'
import type { Release } from './product-folder.ts'

const run = promisify(execFile)

/** Of the configuration of an image, what differs from build to build. */
interface ImageConfig {
  container?: string
  config?: { Hostname?: string }
  container_config?: { Hostname?: string }
}

/** What buildah prints of a build is some kilobytes, and more where one fails. */
const MOST_OUTPUT = 16 * 1024 * 1024
/** An image with a digest: a tag may name other bytes tomorrow. */
const WITH_DIGEST = /@sha256:[0-9a-f]{64}$/

/**
 * The image of Node that is given for a release.
 * @throws Error where it has no digest
 */
export function baseImage(given: string): string {
  if (WITH_DIGEST.test(given)) return given
  throw new Error(`--base-image must name an image of Node by its digest (name@sha256:…): ${given}`)
}

/** Writes the image on that base into `target`, and returns its path. `storage`: options of buildah that say where it builds. */
export async function packImage(
  base: string,
  target: string,
  { root, version, cpu, epochSeconds, revision }: Release,
  storage: readonly string[] = [],
): Promise<string> {
  const image = `localhost/disclosure-bridge:${version}`
  const file = join(target, `disclosure-bridge-${version}-image-linux-${cpu}.tar`)
  const buildah = (...args: string[]) => run('buildah', [...storage, ...args], { maxBuffer: MOST_OUTPUT })
  const given = ['--build-arg', `NODE_IMAGE=${base}`, '--build-arg', `REVISION=${revision ?? 'unknown'}`]
  // Health checks are no part of the format of OCI.
  const options = ['--isolation', 'chroot', '--format', 'docker', '--timestamp', String(epochSeconds)]
  await buildah('bud', ...options, '--tag', image, ...given, '--file', join(root, 'deploy/Dockerfile'), root)
  const work = mkdtempSync(join(tmpdir(), 'bridge-image-'))
  try {
    const written = join(work, 'written.tar')
    await buildah('push', image, `docker-archive:${written}`)
    const parts = join(work, 'parts')
    mkdirSync(parts)
    await run('tar', ['-xf', written, '-C', parts])
    const names = withoutBuildContainer(parts, `disclosure-bridge:${version}`)
    const same = [...TAR_OPTIONS, '--mode=0644', `--mtime=@${epochSeconds}`]
    await run('tar', ['-cf', file, ...same, '-C', parts, ...names])
  } finally {
    rmSync(work, { recursive: true })
  }
  return file
}

/**
 * Takes the container that buildah built in out of the image's configuration: its id and host name are other ones each time.
 * Returns the files of the image in order; the others are of a format that nothing needs.
 */
function withoutBuildContainer(parts: string, tag: string): string[] {
  const read = <T>(name: string): T => JSON.parse(readFileSync(join(parts, name), 'utf8')) as T
  const [image] = read<[{ Config: string; Layers: string[] }]>('manifest.json')
  const { container: _id, ...config } = read<ImageConfig>(image.Config)
  for (const part of [config.config, config.container_config]) if (part !== undefined) part.Hostname = ''
  const text = JSON.stringify(config)
  const name = `${createHash('sha256').update(text).digest('hex')}.json`
  writeFileSync(join(parts, name), text)
  const manifest = [{ Config: name, RepoTags: [tag], Layers: image.Layers }]
  writeFileSync(join(parts, 'manifest.json'), JSON.stringify(manifest))
  return ['manifest.json', name, ...image.Layers]
}
