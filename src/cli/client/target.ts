/**
 * Finds the address and token of the running bridge that a command talks to: from the command's flags, else from the
 * settings.
 */
import { BridgeError } from '../../errors.ts'
import { type ReadFile, readTextFile } from '../../settings/environment.ts'
import { type SettingName, settingNames } from '../../settings/schema.ts'
import { examineSettings, type Settings } from '../../settings/settings.ts'

/** A bridge to talk to. */
export interface BridgeTarget {
  /** Without a slash at its end, e.g. `http://127.0.0.1:8080`. */
  url: string
  token: string
  /** Whether the token came from `--token`, so that a refusal names what to change. */
  tokenIsFlag: boolean
}

/** The flags of every command that talks to a running bridge. */
export const requestFlags = {
  json: { type: 'boolean' },
  url: { type: 'string' },
  token: { type: 'string' },
} as const

const ADDRESS: readonly string[] = ['BRIDGE_HTTP_HOST', 'BRIDGE_HTTP_PORT'] satisfies SettingName[]
const TOKEN = 'BRIDGE_ADMIN_TOKEN' satisfies SettingName
const TOKEN_HINT = `Set ${TOKEN} (or ${TOKEN}_FILE) to the token of the running bridge, or give --token.`
/** Wildcard hosts to listen on, with the address to connect to. */
const WILDCARDS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/**
 * The bridge that the flags name; the settings fill in what is not given.
 * @throws BridgeError `usage` for a wrong flag, `settings` where the settings are needed and wrong or not enough
 */
export function targetOf(
  flags: { url?: string | undefined; token?: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
  readFile: ReadFile = readTextFile,
): BridgeTarget {
  const url = flags.url === undefined ? null : checkedUrl(flags.url)
  if (flags.token === '')
    throw new BridgeError('usage', '--token is empty', { hint: 'Give a token, or leave it out.' })
  const tokenIsFlag = flags.token !== undefined
  if (url !== null && flags.token !== undefined) return { url, token: flags.token, tokenIsFlag }
  const { settings, errors } = examineSettings(env, readFile)
  const token = flags.token ?? settings.adminToken
  const wrong = [
    ...(url === null ? errors.filter(({ field }) => ADDRESS.includes(field)) : []),
    ...(token === null ? errors.filter(({ field }) => field.startsWith(TOKEN) || isUnknown(field)) : []),
  ]
  if (wrong.length > 0 || token === null) {
    throw new BridgeError('settings', 'no address or no token of a running bridge in the settings', {
      errors: wrong,
      hint: token === null ? TOKEN_HINT : 'Correct them, or give --url.',
    })
  }
  return { url: url ?? publicUrl(settings), token, tokenIsFlag }
}

function isUnknown(field: string): boolean {
  return !settingNames.some((name) => name === field.replace(/_FILE$/, ''))
}

/**
 * Where a bridge with these settings listens, as seen from this machine.
 * @throws BridgeError `usage` where the bridge chooses its port itself
 */
function publicUrl({ http }: Pick<Settings, 'http'>): string {
  if (http.port !== 0) return addressOf(http)
  throw new BridgeError('usage', 'BRIDGE_HTTP_PORT is 0, so the bridge has chosen a free port', {
    hint: 'Give --url the address (`http`) that the bridge printed when it started.',
  })
}

/** The address of a listener as seen from this machine, e.g. `http://127.0.0.1:8080`. */
export function addressOf({ host, port }: { host: string; port: number }): string {
  const near = WILDCARDS[host] ?? host
  return `http://${near.includes(':') ? `[${near}]` : near}:${port}`
}

function checkedUrl(text: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '') {
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  }
  throw new BridgeError('usage', '--url must be an http or https address without credentials and query', {
    hint: 'For example http://127.0.0.1:8080: the bridge prints its address (`http`) when it starts.',
  })
}
