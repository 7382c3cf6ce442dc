/** Makes the Debian package: the product's folder, the service, its user, and a file of settings for Node. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type Release, settleFiles } from './product-folder.ts'

/** The package, its user, its service and its folders have this name. */
const NAME = 'disclosure-bridge'
const PRODUCT = `usr/lib/${NAME}`
const CONFFILE = `etc/default/${NAME}`
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }
/** What Node is linked against, by the versions of symbols that it asks for, and who makes user and folders. */
const DEPENDS = 'libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 6), systemd'

/** The file's name. A version before a release (`1.0.0-rc.1`) sorts before it in Debian, too. */
export function packageName({ version, cpu }: Release): string {
  return `${NAME}_${version.replace('-', '~')}_${ARCHITECTURES[cpu] ?? cpu}.deb`
}

/** Builds the package in `folder`, which is empty, and moves the product's folder into it. Returns the file's path. */
export function packDebian(folder: string, product: string, target: string, release: Release): string {
  const from = (path: string): string => join(release.root, 'deploy', path)
  const to = (path: string): string => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    return join(folder, path)
  }
  renameSync(product, to(PRODUCT))
  // Not /usr/bin/bridge: iproute2 has a command of that name, which root's path finds first.
  symlinkSync(`../lib/${NAME}/bin/bridge`, to(`usr/bin/${NAME}`))
  cpSync(from(`systemd/${NAME}.service`), to(`usr/lib/systemd/system/${NAME}.service`))
  cpSync(from('debian/sysusers.conf'), to(`usr/lib/sysusers.d/${NAME}.conf`))
  cpSync(from('debian/tmpfiles.conf'), to(`usr/lib/tmpfiles.d/${NAME}.conf`))
  cpSync(from('debian/default'), to(CONFFILE))
  mkdirSync(to(`etc/${NAME}`))
  cpSync(join(release.root, 'LICENSE'), to(`usr/share/doc/${NAME}/copyright`))
  const files = filesIn(folder)
  for (const script of ['postinst', 'prerm', 'postrm'])
    cpSync(from(`debian/${script}`), to(`DEBIAN/${script}`))
  writeFileSync(to('DEBIAN/conffiles'), `/${CONFFILE}\n`)
  writeFileSync(to('DEBIAN/md5sums'), files.map((path) => `${md5(join(folder, path))}  ${path}\n`).join(''))
  writeFileSync(to('DEBIAN/control'), controlText(release, sizeKib(folder, files)))
  settleFiles(folder, release)
  const file = join(target, packageName(release))
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z6', '--build', folder, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, SOURCE_DATE_EPOCH: release.epochSeconds.toString() },
  })
  return file
}

function controlText(release: Release, installedKib: number): string {
  const [, version = '', architecture = ''] = packageName(release)
    .replace(/\.deb$/, '')
    .split('_')
  return [
    `Package: ${NAME}`,
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${NAME} <maintainers@disclosure-bridge.invalid>`,
    'Section: net',
    'Priority: optional',
    `Depends: ${DEPENDS}`,
    `Installed-Size: ${installedKib}`,
    'Description: turns a polled API of UK regulatory announcements into a stream',
    ' It polls the API under its weekly quota and serves every announcement once, in',
    ' order, on Kafka topics, webhooks, WebSockets and server-sent events. Where one',
    ' may be missing, the stream says so. Node is inside.',
    '',
  ].join('\n')
}

/** Files below the folder, links left out, by their paths in it, sorted. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
}

/** What the files take on a disk, in KiB, as Debian counts it: each begins one. */
function sizeKib(folder: string, files: readonly string[]): number {
  return files.reduce((sum, path) => sum + Math.ceil(statSync(join(folder, path)).size / 1024), 0)
}

function md5(path: string): string {
  return createHash('md5').update(readFileSync(path)).digest('hex')
}
