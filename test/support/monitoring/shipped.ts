/** Reads the alert rules that operators load. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../house/repository.ts'

/** The text of the rule file. */
export function shippedRules(): string {
  return readFileSync(join(root, 'deploy/monitoring/rules/bridge.yml'), 'utf8')
}
