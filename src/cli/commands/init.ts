/**
 * Runs `bridge init`: writes a file of settings with a token and a key made for this installation, so that every command
 * in the directory finds the same ones.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { planNames } from '../../core/plans.ts'
import { BridgeError, messageOf } from '../../errors.ts'
import { ENV_FILE } from '../../settings/environment.ts'
import type { SettingName } from '../../settings/schema.ts'
import { examineSettings, isMissing } from '../../settings/settings.ts'
import { readPlan } from '../terminal/arguments.ts'
import { command } from '../terminal/command.ts'
import { harmless } from '../terminal/text.ts'

/** Only the owner may read it: it holds the keys. */
const MODE = 0o600
const TO_FILL_IN = ['BRIDGE_UPSTREAM_URL', 'BRIDGE_UPSTREAM_KEY'] as const satisfies readonly SettingName[]
const MADE = ['BRIDGE_ADMIN_TOKEN', 'BRIDGE_SECRET_KEY'] as const satisfies readonly SettingName[]

const SPEC = {
  name: 'init',
  does: `writes a file ${ENV_FILE} with new keys, which every command in this directory reads`,
  help: `It asks nothing and overwrites no file. BRIDGE_UPSTREAM_URL, BRIDGE_UPSTREAM_KEY, BRIDGE_UPSTREAM_PLAN,
${MADE.join(' and ')} of the environment are taken over; token and key are made otherwise.
  --upstream-url URL    address of the upstream, ending in /v2
  --upstream-key KEY    its key; other users of this machine can see it while the command runs
  --plan NAME           ${planNames.join(', ')}; default free
  --file FILE           another file, e.g. for an environment file of systemd
  --json                what was written, without secrets, as one line of JSON

  bridge init && bridge doctor`,
  flags: {
    'upstream-url': { type: 'string' },
    'upstream-key': { type: 'string' },
    plan: { type: 'string' },
    file: { type: 'string' },
    json: { type: 'boolean' },
  },
} as const

/** Writes the file. Rejects with nothing written if it is there already, or a value is wrong. */
export const initCommand = command(SPEC, async ({ values }, { env, stdout, stderr }) => {
  const file = values.file ?? ENV_FILE
  const wanted: Partial<Record<SettingName, string>> = {
    BRIDGE_UPSTREAM_URL: values['upstream-url'] ?? env.BRIDGE_UPSTREAM_URL ?? '',
    BRIDGE_UPSTREAM_KEY: values['upstream-key'] ?? env.BRIDGE_UPSTREAM_KEY ?? '',
    BRIDGE_UPSTREAM_PLAN: readPlan(values.plan) ?? env.BRIDGE_UPSTREAM_PLAN ?? 'free',
    BRIDGE_ADMIN_TOKEN: env.BRIDGE_ADMIN_TOKEN ?? randomBytes(16).toString('hex'),
    BRIDGE_SECRET_KEY: env.BRIDGE_SECRET_KEY ?? randomBytes(32).toString('hex'),
  }
  const text = fileText(wanted)
  check(text, wanted)
  write(file, text)
  const missing = TO_FILL_IN.filter((name) => wanted[name] === '')
  const made = MADE.filter((name) => env[name] === undefined)
  if (values.json === true) stdout(JSON.stringify({ file, made, missing }))
  stderr(`wrote ${harmless(file)}, which only you can read`)
  if (made.length > 0) stderr(`made ${made.join(' and ')}: keep a copy in another place`)
  if (missing.length > 0) stderr(`fill in ${missing.join(' and ')}, then run bridge doctor`)
  else stderr('bridge doctor checks the settings, bridge run (npm start) starts')
})

function fileText(settings: Partial<Record<SettingName, string>>): string {
  const line = (name: SettingName): string => `${name}=${quoted(name, settings[name] ?? '')}`
  return [
    '# Settings of disclosure-bridge, read by every command in this directory; all of them: docs/configuration.md',
    '',
    "# The upstream: its address, ending in /v2, your key, your plan, and the provider's own word for native",
    line('BRIDGE_UPSTREAM_URL'),
    line('BRIDGE_UPSTREAM_KEY'),
    line('BRIDGE_UPSTREAM_PLAN'),
    '#BRIDGE_UPSTREAM_NATIVE_WORD=',
    '',
    '# Made for this installation. The first token has all rights. The key encrypts the secrets of webhooks: without it',
    '# they cannot be read.',
    ...MADE.map(line),
    '',
  ].join('\n')
}

/** @throws BridgeError `usage` for text that a line of the file cannot hold */
function quoted(name: SettingName, text: string): string {
  if (/^[\w.:/@%+=,~?&-]*$/.test(text)) return text
  if (!/['\r\n]/.test(text)) return `'${text}'`
  throw new BridgeError('usage', `${name} must be one line without the character '`, {
    hint: 'Leave it out and write it into the file by hand.',
  })
}

/** @throws BridgeError `settings` for values that are wrong; those still to be filled in are missing, not wrong */
function check(text: string, wanted: Partial<Record<SettingName, string>>): void {
  const { errors } = examineSettings({}, (path) => {
    if (path === ENV_FILE) return text
    throw Object.assign(new Error(`${path} is not read`), { code: 'ENOENT' })
  })
  const wrong = errors.filter((error) => Object.hasOwn(wanted, error.field) && !isMissing(error))
  if (wrong.length === 0) return
  throw new BridgeError('settings', 'nothing was written: some values are wrong', {
    errors: wrong,
    hint: 'Every setting, its default and its meaning: docs/configuration.md',
  })
}

function write(file: string, text: string): void {
  try {
    const opened = openSync(file, 'wx', MODE)
    try {
      writeFileSync(opened, text)
    } catch (error) {
      // A part of it would keep the next attempt from writing.
      rmSync(file)
      throw error
    } finally {
      closeSync(opened)
    }
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code === 'EEXIST'
    throw new BridgeError(
      'failed',
      isThere
        ? `${file} is there already; nothing was changed`
        : `${file} cannot be written: ${messageOf(cause)}`,
      {
        cause: isThere ? undefined : cause,
        hint: isThere
          ? 'Edit it, or move it away first: new keys cannot read secrets that the old ones encrypted.'
          : 'Correct that, or choose another place with --file.',
      },
    )
  }
}
