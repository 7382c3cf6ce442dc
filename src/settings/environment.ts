/**
 * Collects the texts of all settings from the environment, a `.env` file and, for secrets, files named by `NAME_FILE`. The
 * environment wins over `.env`.
 */
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { didYouMean } from '../core/near.ts'
import { BridgeError, type FieldError, MOST_ERRORS, messageOf } from '../errors.ts'
import { docOf, type SettingName, settingNames } from './schema.ts'

/** Reads a text file; throws as `readFileSync` does, with `code` `ENOENT` when there is none. */
export type ReadFile = (path: string) => string

/** Reads a file of this machine. */
export const readTextFile: ReadFile = (path) => readFileSync(path, 'utf8')

/** Where a setting's text came from. */
type Origin = 'environment' | '.env'

/** The texts found, and errors about names and files. */
export interface FoundSettings {
  texts: Map<SettingName, string>
  /** The files that gave secrets. */
  files: Map<SettingName, string>
  errors: FieldError[]
}

const PREFIX = 'BRIDGE_'
/** Read from the working directory if it exists. */
export const ENV_FILE = '.env'

/** The names that give a secret as a file: `NAME_FILE` for `NAME`. */
export const fileNames: ReadonlyMap<string, SettingName> = new Map(
  settingNames.filter((name) => docOf(name).isSecret === true).map((name) => [`${name}_FILE`, name]),
)

/**
 * Collects the text of every setting. A blank text counts as absent, so `NAME=` in the environment overrides `.env`. A
 * secret given by the environment, as text or file, overrides both forms in `.env`.
 * @throws BridgeError `settings` when `.env` is there but cannot be read
 */
export function collectTexts(
  env: Readonly<Record<string, string | undefined>>,
  readFile: ReadFile,
): FoundSettings {
  const envFile = readEnvFile(readFile)
  const given = new Map<string, { text: string; origin: Origin }>()
  const sources: [Origin, Readonly<Record<string, string | undefined>>][] = [
    ['.env', envFile.texts],
    ['environment', env],
  ]
  for (const [origin, source] of sources) {
    for (const [name, text] of Object.entries(source)) {
      if (!(name.startsWith(PREFIX) || isKnown(name)) || text === undefined) continue
      const other = otherWay(name)
      if (other !== null && given.get(other)?.origin !== origin) given.delete(other)
      if (text.trim() === '') given.delete(name)
      else given.set(name, { text: text.trim(), origin })
    }
  }
  const found = sortNames(given, readFile)
  return { ...found, errors: [...envFile.errors, ...found.errors] }
}

/** Settings with names of other standards are read too; the others of those standards are not ours to judge. */
function isKnown(name: string): boolean {
  return fileNames.has(name) || settingNames.some((known) => known === name)
}

/** The other name of the same secret: `NAME_FILE` for `NAME` and back; null for other names. */
function otherWay(name: string): string | null {
  return fileNames.get(name) ?? (fileNames.has(`${name}_FILE`) ? `${name}_FILE` : null)
}

function sortNames(given: Map<string, { text: string; origin: Origin }>, readFile: ReadFile): FoundSettings {
  const found: FoundSettings = { texts: new Map(), files: new Map(), errors: [] }
  for (const [name, { text, origin }] of given) {
    const known = settingNames.find((candidate) => candidate === name)
    const secret = fileNames.get(name)
    if (known !== undefined) found.texts.set(known, text)
    else if (secret === undefined) found.errors.push({ field: name, message: unknownName(name, origin) })
    else if (given.has(secret)) {
      found.errors.push({ field: name, message: `is set together with ${secret}; keep one of the two` })
    } else readSecret(found, { name, secret, path: text, readFile })
  }
  return found
}

function readSecret(
  found: FoundSettings,
  { name, secret, path, readFile }: { name: string; secret: SettingName; path: string; readFile: ReadFile },
): void {
  try {
    const text = readFile(path).trim()
    if (text === '') found.errors.push({ field: name, message: `names an empty file: ${path}` })
    else {
      found.texts.set(secret, text)
      found.files.set(secret, path)
    }
  } catch (error) {
    found.errors.push({ field: name, message: `names a file that cannot be read: ${messageOf(error)}` })
  }
}

function unknownName(name: string, origin: Origin): string {
  const where = origin === 'environment' ? '' : ' (in .env)'
  return `is not a setting of this bridge${where}${didYouMean(name, [...settingNames, ...fileNames.keys()])}`
}

/** The assignments of the file, and an error for each line that is none: Node's parser passes over those in silence. */
function readEnvFile(readFile: ReadFile): { texts: NodeJS.Dict<string>; errors: FieldError[] } {
  try {
    const text = readFile(ENV_FILE)
    const errors = unreadLines(text).map((line) => ({
      field: `${ENV_FILE} line ${line}`,
      message: 'cannot be read: write NAME=value, and # before a comment',
    }))
    return { texts: parseEnv(text), errors: errors.slice(0, MOST_ERRORS) }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { texts: {}, errors: [] }
    throw new BridgeError('settings', `${ENV_FILE} cannot be read: ${messageOf(error)}`, {
      hint: 'Make it readable for this user, or remove it.',
      cause: error,
    })
  }
}

const ASSIGNMENT = /^\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*=\s*(["'`]?)(.*)$/

/** Numbers, from 1, of the lines that are neither blank, comment, assignment, nor inside a value in quotes. */
function unreadLines(text: string): number[] {
  const lines = text.split(/\r?\n/)
  const unread: number[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const [isAssignment, quote = '', rest = ''] = ASSIGNMENT.exec(line) ?? []
    if (isAssignment === undefined) {
      if (!/^\s*(#|$)/.test(line)) unread.push(at + 1)
    } else if (quote !== '' && !rest.includes(quote)) {
      const end = lines.findIndex((later, place) => place > at && later.includes(quote))
      if (end !== -1) at = end
    }
  }
  return unread
}
