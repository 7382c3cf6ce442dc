/** Runs `bridge me`: prints whose token the command uses, and what it may do. */
import { fieldsOf, printableText, type ResponseFields, requesterOf } from '../../client/lists.ts'
import type { RefusalWords } from '../../client/refusal.ts'
import { requestFlags, TARGET_HELP } from '../../client/target.ts'
import { command } from '../../terminal/command.ts'

const words: RefusalWords = {
  help: 'bridge me --help lists the flags.',
  missing: {
    message: 'does not name tokens',
    hint: 'Check --url; the bridge there must have the role api in BRIDGE_ROLES.',
  },
}

/** Prints the token's owner and scopes. Rejects if no bridge answers or the token is not valid. */
export const meCommand = command(
  {
    name: 'me',
    does: 'whose token this is, what it may do, and until when',
    help: `  --json                the response as JSON on stdout
${TARGET_HELP}

  bridge me --token-file desk.token`,
    flags: requestFlags,
  },
  async ({ values: { json, ...target } }, context) => {
    const answer = await requesterOf(target, words, context)({ method: 'GET', path: '/v1/me' })
    if (json === true) return context.stdout(JSON.stringify(answer))
    for (const [name, text] of rowsOf(fieldsOf(answer))) context.stdout(`${name.padEnd(9)}${text}`)
  },
)

function rowsOf({ tenant, tokenId, name, scopes, expiresAt }: ResponseFields): [string, string][] {
  return [
    ['tenant', printableText(tenant)],
    ['token', printableText(tokenId)],
    ['name', printableText(name) || '–'],
    ['scopes', (Array.isArray(scopes) ? scopes : []).map(printableText).join(',') || '–'],
    ['expires', printableText(expiresAt ?? 'never')],
  ]
}
