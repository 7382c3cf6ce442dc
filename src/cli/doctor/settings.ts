/**
 * What is wrong with the settings, each fault a finding of its own. Owns the advice. Refuses to judge them: the settings
 * do.
 */
import type { Examined } from '../../settings/settings.ts'
import { type Finding, fine } from './finding.ts'

/** One finding a wrong setting or warning; one `ok` where there is none; and which log they choose. */
export function checkSettings({ errors, settings }: Examined): Finding[] {
  const wrong = errors.map(
    ({ field, message }): Finding => ({
      level: 'fail',
      name: 'settings',
      finding: `${field} ${message}`,
      todo: 'correct it; its meaning: docs/configuration.md',
      area: 'settings',
    }),
  )
  const noted = settings.warnings.map(
    (warning): Finding => ({
      level: 'warn',
      name: 'settings',
      finding: warning,
      todo: 'change it if that is not meant',
      area: 'settings',
    }),
  )
  const roles = `complete for the roles ${settings.roles.join(', ')}`
  return [...wrong, ...(wrong.length === 0 ? [fine('settings', roles)] : []), ...noted]
}
