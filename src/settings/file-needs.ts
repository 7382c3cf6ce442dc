/** Tells from the settings what a process opens many files for, so that `bridge run` and `bridge doctor` divide the same. */
import type { FileNeeds } from '../lifecycle/open-files.ts'
import type { Settings } from './settings.ts'

/** Streams and pulls only where the process serves them, webhook attempts only where it delivers. */
export function fileNeedsOf({
  roles,
  streamMaxClients,
}: Pick<Settings, 'roles' | 'streamMaxClients'>): FileNeeds {
  const serves = roles.includes('api') || roles.includes('feed')
  return { streams: serves ? streamMaxClients : 0, delivers: roles.includes('webhooks') }
}
