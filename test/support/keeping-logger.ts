/** A logger that keeps its lines for assertions. */
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
      void lines.push({ level, event, fields })
  return {
    lines,
    logger: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
  }
}
