/** Tells which commit of a checkout is released, and of when: what differs from it is never released under its name. */
import { execFileSync } from 'node:child_process'
import type { Release } from './product-folder.ts'

/** Most files that the refusal names. */
const MOST_NAMED = 10

/**
 * The commit of the checkout and its time; with `SOURCE_DATE_EPOCH`, s since 1970, that time and no commit: git is not asked.
 * Throws where files differ from the commit, or are not in it.
 */
export function releasedSource(
  root: string,
  { SOURCE_DATE_EPOCH: given }: { SOURCE_DATE_EPOCH?: string | undefined },
): Pick<Release, 'epochSeconds' | 'revision'> {
  if (given !== undefined) return { epochSeconds: secondsOf(given), revision: null }
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' })
  const changed = git('status', '--porcelain').split('\n').filter(Boolean)
  if (changed.length > 0) {
    const named = changed.slice(0, MOST_NAMED).join('\n')
    throw new Error(
      `the checkout differs from its commit (${changed.length}); commit or remove what git names, or set SOURCE_DATE_EPOCH for a trial:\n${named}`,
    )
  }
  const [revision = '', seconds = ''] = git('log', '-1', '--format=%H %ct').trim().split(' ')
  return { epochSeconds: secondsOf(seconds), revision }
}

function secondsOf(text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text)
  throw new Error(`SOURCE_DATE_EPOCH must be seconds since 1970: ${text}`)
}
