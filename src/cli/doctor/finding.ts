/**
 * Defines a finding, the result of one check of `bridge doctor`, prints findings as lines or JSON, and derives the exit
 * code.
 */
import { BridgeError, type ErrorCode } from '../../errors.ts'
import { harmless, type Paint, type Tone } from '../terminal/text.ts'

/** One line of the doctor. */
export interface Finding {
  /** `fail`: the bridge cannot work. `warn`: it works, with a risk. */
  level: 'ok' | 'warn' | 'fail'
  /** What was checked, one word. */
  name: string
  finding: string
  /** What to do next; null where nothing is. */
  todo: string | null
  /** Which exit code a `fail` leads to; without effect at other levels. */
  area: Extract<ErrorCode, 'settings' | 'upstream' | 'kafka' | 'failed'>
}

const TONES: Record<Finding['level'], Tone> = { ok: 'soft', warn: 'strong', fail: 'alarm' }
const AREAS: readonly Finding['area'][] = ['settings', 'upstream', 'kafka', 'failed']

/** A finding of level `ok`. */
export function fine(name: string, finding: string): Finding {
  return { level: 'ok', name, finding, todo: null, area: 'failed' }
}

/** A finding of level `warn`. */
export function warn(name: string, finding: string, todo: string): Finding {
  return { level: 'warn', name, finding, todo, area: 'failed' }
}

/** A finding of level `fail`. */
export function fail(
  name: string,
  finding: string,
  todo: string | null,
  area: Finding['area'] = 'failed',
): Finding {
  return { level: 'fail', name, finding, todo, area }
}

/** The findings as lines for a person, aligned. `clean` removes secrets. */
export function findingLines(
  findings: readonly Finding[],
  paint: Paint,
  clean: (text: string) => string,
): string[] {
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings.map(({ level, name, finding, todo }) => {
    const advice = todo === null ? '' : `  → ${clean(harmless(todo))}`
    const mark = paint(TONES[level], level.padEnd(4))
    return `${mark}  ${name.padEnd(width)}  ${clean(harmless(finding))}${advice}`
  })
}

/** The findings as one line of JSON: `{ok, checks: [{level, name, finding, todo}]}`. */
export function findingsJson(findings: readonly Finding[], clean: (text: string) => string): string {
  const checks = findings.map(({ level, name, finding, todo }) => ({
    level,
    name,
    finding: clean(harmless(finding)),
    todo: todo === null ? null : clean(harmless(todo)),
  }))
  return JSON.stringify({ ok: findings.every(({ level }) => level !== 'fail'), checks })
}

/** @throws BridgeError where a check failed; its code by priority: settings, upstream, Kafka, the rest */
export function throwIfFailed(findings: readonly Finding[]): void {
  const failed = findings.filter(({ level }) => level === 'fail')
  const area = AREAS.find((candidate) => failed.some((finding) => finding.area === candidate))
  if (area === undefined) return
  const names = [...new Set(failed.map(({ name }) => name))].join(', ')
  throw new BridgeError(area, `${failed.length} of ${findings.length} checks failed: ${names}`, {
    hint: 'Each failed check says what to do: after the arrow, or as `todo` with --json.',
  })
}

/** Shorter than any key that a service gives out; it may be a part of a word. */
const SHORT_SECRET = 8

/** Replaces secrets in a text; a short one only where it stands alone, so that a key `x` leaves the word `fix`. */
export function withoutSecrets(secrets: readonly string[]): (text: string) => string {
  const patterns = secrets.map((secret) => {
    const escaped = secret.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    return new RegExp(secret.length < SHORT_SECRET ? `(?<!\\w)${escaped}(?!\\w)` : escaped, 'g')
  })
  return (text) => patterns.reduce((cleaned, pattern) => cleaned.replace(pattern, '[redacted]'), text)
}
