/**
 * Reads from the lock file which packages a release holds: those of production, for one processor, with their folders. It
 * refuses an installation that differs from the lock file.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A package of the lock file. */
export interface LockedPackage {
  /** Its folder, such as `node_modules/a/node_modules/b`. */
  readonly path: string
  readonly version: string
}

interface Entry {
  version: string
  dev?: boolean
  os?: string[]
  cpu?: string[]
}

/**
 * The packages of production for Linux on `cpu`, without those that only bring Node.
 * @throws Error where an installed package is missing or has another version
 */
export function lockedPackages(root: string, cpu: string): LockedPackage[] {
  const { packages } = readJson<{ packages: Record<string, Entry> }>(join(root, 'package-lock.json'))
  const chosen = Object.entries(packages).flatMap(([path, { version, dev, os, cpu: cpus }]) => {
    const fits = (os?.includes('linux') ?? true) && (cpus?.includes(cpu) ?? true)
    const isNode = path.startsWith('node_modules/node-linux-')
    return path === '' || dev === true || isNode || !fits ? [] : [{ path, version }]
  })
  for (const { path, version } of chosen) {
    const installed = readJson<{ version: string }>(join(root, path, 'package.json')).version
    if (installed !== version)
      throw new Error(`${path} is ${installed}, the lock file says ${version}: run npm ci`)
  }
  return chosen
}

/** Reads a file of JSON whose shape npm guarantees. */
export function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T
}
