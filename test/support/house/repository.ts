/**
 * Lists the files of this repository from the disk, and which of them are the project's own text. It does not use git:
 * the tests pass in an unpacked archive too.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, resolve } from 'node:path'
import type { TextFile } from './house-rules.ts'

/** The root of the repository. */
export const root = resolve(import.meta.dirname, '../../..')

const SKIPPED = new Set([
  'node_modules',
  '.git',
  '.cache',
  'data',
  'coverage',
  'dist',
  'package-lock.json',
  '.env',
  'LICENSE',
])

/** Every text file of the project below `folder`, named from the root. */
export function textFiles(folder = ''): TextFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name)
    if (folder === '' && SKIPPED.has(entry.name)) return []
    if (entry.isDirectory()) return textFiles(path)
    if (!entry.isFile() || entry.name.endsWith('.log')) return []
    const text = readFileSync(join(root, path), 'utf8')
    return text.includes('\0') ? [] : [{ path, text }]
  })
}
