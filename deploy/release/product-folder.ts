/**
 * Lays out the folder that archive and package hold: Node, the sources with the console's page built, the packages of
 * production, and the pages of the docs. Nothing is downloaded.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, lutimesSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { lockedPackages, readJson } from './locked-packages.ts'

/** What is released. */
export interface Release {
  /** The checkout, after `npm ci`. */
  readonly root: string
  readonly version: string
  /** As Node names it: `x64` or `arm64`. */
  readonly cpu: string
  /** The time of every file, s since 1970. */
  readonly epochSeconds: number
  /** The commit; null where none is named. */
  readonly revision: string | null
}

/** Copied as they are. `page.built.json` of the checkout may be old: it is built anew. */
const COPIED = [
  'src',
  'clients/typescript/src',
  'deploy/health.ts',
  'deploy/monitoring',
  'deploy/systemd',
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
]
const BUILT_PAGE = 'src/console/page.built.json'
/** Packages ship them for editors, not for Node. */
const FOR_EDITORS = /\.(d\.[cm]?ts|map|md|markdown)$/i

/** Writes the folder, with the rights and times of a release. */
export function layOutProduct(folder: string, release: Release): void {
  const { root, cpu, revision } = release
  const copy = (path: string, accepts: (source: string) => boolean = () => true): void =>
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: accepts })
  for (const path of COPIED) copy(path, (source) => source !== join(root, BUILT_PAGE))
  copy('docs', (source) => statSync(source).isDirectory() || extname(source) === '.md')
  for (const { path } of lockedPackages(root, cpu)) {
    copy(path, (source) => basename(source) !== 'node_modules' && !FOR_EDITORS.test(source))
  }
  const node = join(root, `node_modules/node-linux-${cpu}`)
  mkdirSync(join(folder, 'bin'))
  cpSync(join(node, 'bin/node'), join(folder, 'bin/node'))
  cpSync(join(node, 'LICENSE'), join(folder, 'LICENSE.node'))
  cpSync(join(root, 'deploy/release/bridge.sh'), join(folder, 'bin/bridge'))
  const { name, version, description, license } = readJson<Record<string, string>>(join(root, 'package.json'))
  const named = revision === null ? {} : { revision }
  const manifest = { name, version, ...named, description, license, private: true, type: 'module' }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const buildPage = join(folder, 'src/console/build-page.ts')
  execFileSync(join(folder, 'bin/node'), [
    '--disable-warning=ExperimentalWarning',
    buildPage,
    join(folder, BUILT_PAGE),
  ])
  settleFiles(folder, release)
}

/** Gives every file the same rights on every machine, and the release's time. */
export function settleFiles(folder: string, { epochSeconds }: Pick<Release, 'epochSeconds'>): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) settleFiles(path, { epochSeconds })
    else settle(path, entry.isSymbolicLink() ? null : isProgram(path) ? 0o755 : 0o644)
  }
  settle(folder, 0o755)

  function settle(path: string, mode: number | null): void {
    if (mode !== null) chmodSync(path, mode)
    lutimesSync(path, epochSeconds, epochSeconds)
  }
}

/** Commands, and the scripts of a package of Debian, can be executed; nothing else can. */
function isProgram(path: string): boolean {
  return basename(dirname(path)) === 'bin' || /\/DEBIAN\/(postinst|prerm|postrm)$/.test(path)
}
