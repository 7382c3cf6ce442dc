/**
 * Runs those checks of `bridge doctor` that a running bridge can make of itself: they send no request, spend no unit and change
 * nothing.
 */
import type { Status } from '../../api/routes/status.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { openFilesLimit } from '../../lifecycle/open-files.ts'
import { fileNeedsOf } from '../../settings/file-needs.ts'
import type { Settings } from '../../settings/settings.ts'
import { harmless } from '../terminal/text.ts'
import { judgeStatus } from './bridge.ts'
import { checkExposure } from './exposure.ts'
import { type Finding, withoutSecrets } from './finding.ts'
import { checkGuard } from './guard.ts'
import { checkDataDir, checkNode, checkOpenFiles, checkPrivacy } from './machine.ts'
import { checkSettings } from './settings.ts'

/** A function that gives the findings now, without secrets; `env`: the environment of the process. */
export function createInsideDoctor(
  settings: Settings,
  env: Readonly<Record<string, string | undefined>>,
  clock: Pick<Clock, 'now'>,
): (status: Status) => Omit<Finding, 'area'>[] {
  const clean = withoutSecrets(settings.secrets)
  return (status) =>
    [
      ...checkSettings({ errors: [], settings }, clock.now()),
      checkNode(process.version),
      checkDataDir(settings.dataDir),
      ...checkPrivacy(settings.dataDir),
      checkOpenFiles(fileNeedsOf(settings), openFilesLimit()),
      ...checkGuard(settings),
      ...checkExposure(settings, env),
      ...judgeStatus('this node', status, clock.now()),
    ].map(({ level, name, finding, todo }) => ({
      level,
      name,
      finding: clean(harmless(finding)),
      todo: todo === null ? null : clean(harmless(todo)),
    }))
}
