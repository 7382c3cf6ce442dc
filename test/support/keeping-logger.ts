/** A logger that keeps its lines for a test to look at. */
import type { Fields, Logger } from '../../src/obs/logger.ts'

export interface KeptLine {
  level: 'debug' | 'info' | 'warn' | 'error'
  event: string
  fields: Fields
}

/** The logger and what it was told. */
export function keepingLogger(): { logger: Logger; lines: KeptLine[] } {
  const lines: KeptLine[] = []
  const line =
    (level: KeptLine['level']) =>
    (event: string, fields: Fields = {}): void =>
      void lines.push({ level, event, fields })
  return {
    lines,
    logger: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
  }
}
