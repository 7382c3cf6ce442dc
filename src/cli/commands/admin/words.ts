/** Gives the words of the verbs of `bridge admin` for refusals of the bridge. */
import type { RefusalWords } from '../../client/refusal.ts'

/** The words of that command, with those flags. `missing`: what else a 404 may mean. */
export function adminWords(
  name: string,
  flags: readonly string[],
  missing: RefusalWords['missing'] = {
    message: 'takes no such request',
    hint: 'Check --url; the bridge there must have the role api in BRIDGE_ROLES, and be of this version.',
  },
): RefusalWords {
  return { help: `bridge ${name} --help lists what it takes; docs/run/admin.md explains it.`, flags, missing }
}
