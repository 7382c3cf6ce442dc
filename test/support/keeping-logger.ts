/** A logger that keeps its lines for assertions, and refuses fields that the real one would drop. */
import { logFields } from '../../src/obs/log-fields.ts'
import type { LogFields, Logger } from '../../src/obs/logger.ts'

export interface KeptLine {
  level: 'debug' | 'info' | 'warn' | 'error'
  event: string
  fields: LogFields
}

/** The logger and its lines. */
export function keepingLogger(): { logger: Logger; lines: KeptLine[] } {
  const lines: KeptLine[] = []
  const line =
    (level: KeptLine['level']) =>
    (event: string, fields: LogFields = {}): void =>
      void lines.push(allowed({ level, event, fields }))
  return {
    lines,
    logger: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
  }
}

/** The line. Throws where a field is not on the allow-list: the real line would lack it. */
export function allowed<T extends { event: string; fields: object }>(line: T): T {
  const unknown = Object.keys(line.fields).filter((name) => !logFields.has(name))
  if (unknown.length > 0)
    throw new Error(`${line.event} has fields that no line may have: ${unknown.join(', ')}`)
  return line
}
