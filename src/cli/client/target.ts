/**
 * Finds the address and token of the running bridge that a command talks to: from the command's flags, else from a
 * profile or the settings.
 */
import { BridgeError, messageOf } from '../../errors.ts'
import { ENV_FILE, type ReadFile, readTextFile } from '../../settings/environment.ts'
import { type SettingName, settingNames } from '../../settings/schema.ts'
import { examineSettings, isMissing, type Settings } from '../../settings/settings.ts'

/** A bridge to talk to. */
export interface BridgeTarget {
  /** Without a slash at its end, e.g. `http://127.0.0.1:8080`. */
  url: string
  token: string
  /** Whether the token came from a flag, so that a refusal names what to change. */
  tokenIsFlag: boolean
}

/** The flags of every command that talks to a running bridge. */
export const requestFlags = {
  json: { type: 'boolean' },
  url: { type: 'string' },
  token: { type: 'string' },
  'token-file': { type: 'string' },
  profile: { type: 'string' },
} as const

/** Values of these flags. */
export interface TargetFlags {
  url?: string | undefined
  token?: string | undefined
  'token-file'?: string | undefined
  profile?: string | undefined
}

/** The lines of a command's help about the bridge. */
export const TARGET_HELP = `  --url URL             address of the bridge; default: BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT
  --token-file FILE     file with the token; default: BRIDGE_TOKEN, else BRIDGE_ADMIN_TOKEN
  --profile FILE        file with BRIDGE_URL and BRIDGE_TOKEN, read in place of the environment
  --token TOKEN         the token itself, which other users of this machine can see`

const ADDRESS: readonly string[] = ['BRIDGE_HTTP_HOST', 'BRIDGE_HTTP_PORT'] satisfies SettingName[]
/** The settings with a token, the first one given wins. */
const TOKENS: readonly string[] = ['BRIDGE_TOKEN', 'BRIDGE_ADMIN_TOKEN'] satisfies SettingName[]
const TOKEN_HINT = 'Set BRIDGE_TOKEN to a token of the running bridge, or give --token-file.'
/** Wildcard hosts to listen on, with the address to connect to. */
const WILDCARDS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/**
 * The bridge that the flags name; the settings fill in what is not given. A profile takes the place of `.env`, and of the
 * environment.
 * @throws BridgeError `usage` for a wrong flag, `settings` where the settings are needed and wrong or not enough
 */
export function targetOf(
  flags: TargetFlags,
  env: Readonly<Record<string, string | undefined>>,
  readFile: ReadFile = readTextFile,
): BridgeTarget {
  const url = flags.url === undefined ? null : checkedUrl(flags.url, '--url')
  const given = tokenOf(flags, readFile)
  const tokenIsFlag = given !== null
  if (url !== null && given !== null) return { url, token: given, tokenIsFlag }
  const { settings, errors } =
    flags.profile === undefined
      ? examineSettings(env, readFile)
      : examineSettings({}, profileReader(flags.profile, readFile))
  const token = given ?? settings.token ?? settings.adminToken
  const place = url ?? (settings.url === null ? null : checkedUrl(settings.url, 'BRIDGE_URL'))
  const isOfToken = (field: string): boolean =>
    TOKENS.some((name) => field === name || field === `${name}_FILE`)
  const wrong = [
    ...(place === null ? errors.filter(({ field }) => ADDRESS.includes(field)) : []),
    ...(given === null
      ? errors.filter((error) => isOfToken(error.field) && !(token !== null && isMissing(error)))
      : []),
    ...(token === null ? errors.filter(({ field }) => isUnknown(field)) : []),
  ]
  if (wrong.length > 0 || token === null) {
    throw new BridgeError('settings', 'no address or no token of a running bridge in the settings', {
      errors: wrong,
      hint: token === null ? TOKEN_HINT : 'Correct them, or give --url.',
    })
  }
  return { url: place ?? publicUrl(settings), token, tokenIsFlag }
}

/**
 * The token of the flags; null where they give none.
 * @throws BridgeError `usage` for an empty or unreadable one, and for both flags at once
 */
function tokenOf({ token, 'token-file': file }: TargetFlags, readFile: ReadFile): string | null {
  if (token !== undefined && file !== undefined) {
    throw new BridgeError('usage', '--token and --token-file are given together', {
      hint: 'Keep one of the two.',
    })
  }
  const text = file === undefined ? token : readFlagFile('--token-file', file, readFile).trim()
  if (text !== '') return text ?? null
  const flag = file === undefined ? '--token' : '--token-file'
  throw new BridgeError('usage', `${flag} is empty`, { hint: 'Give a token, or leave it out.' })
}

/** Reads the profile where the settings ask for `.env`. */
function profileReader(path: string, readFile: ReadFile): ReadFile {
  const text = readFlagFile('--profile', path, readFile)
  return (asked) => (asked === ENV_FILE ? text : readFile(asked))
}

function readFlagFile(flag: string, path: string, readFile: ReadFile): string {
  try {
    return readFile(path)
  } catch (error) {
    throw new BridgeError('usage', `${flag} names a file that cannot be read: ${messageOf(error)}`)
  }
}

function isUnknown(field: string): boolean {
  return !settingNames.some((name) => name === field.replace(/_FILE$/, ''))
}

/**
 * Where a bridge with these settings listens, as seen from this machine.
 * @throws BridgeError `usage` where the bridge chooses its port itself
 */
function publicUrl({ http, httpTls }: Pick<Settings, 'http' | 'httpTls'>): string {
  if (http.port !== 0) return addressOf(http, httpTls !== null)
  throw new BridgeError('usage', 'BRIDGE_HTTP_PORT is 0, so the bridge has chosen a free port', {
    hint: 'Give --url the address (`http`) that the bridge printed when it started.',
  })
}

/** The address of a listener as seen from this machine, e.g. `http://127.0.0.1:8080`. */
export function addressOf({ host, port }: { host: string; port: number }, hasTls = false): string {
  const near = WILDCARDS[host] ?? host
  return `http${hasTls ? 's' : ''}://${near.includes(':') ? `[${near}]` : near}:${port}`
}

/** The address of a bridge without a slash at its end. @throws BridgeError `usage` where it is none; `name` says where it came from */
export function checkedUrl(text: string, name: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '') {
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  }
  throw new BridgeError('usage', `${name} must be an http or https address without credentials and query`, {
    hint: 'For example http://127.0.0.1:8080: the bridge prints its address (`http`) when it starts.',
  })
}
