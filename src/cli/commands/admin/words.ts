/** Gives the words of the verbs of `bridge admin` for refusals of the bridge. */
import type { RefusalWords } from '../../client/refusal.ts'

const noPath: RefusalWords['missing'] = {
  message: 'takes no such request',
  hint: 'Check --url; the bridge there must have the role api in BRIDGE_ROLES, and be of this version.',
}

/** The words of that command, with those flags. `missing`: what a 404 of a bridge that takes the request means. */
export function adminWords(
  name: string,
  flags: readonly string[],
  missing: RefusalWords['missing'] = noPath,
): RefusalWords {
  const help = `bridge ${name} --help lists what it takes; docs/run/admin.md explains it.`
  return { help, flags, missing, noPath }
}
