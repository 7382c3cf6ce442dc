import { expect, test } from 'vitest'
import { createInsideDoctor } from '../../../src/cli/doctor/inside.ts'
import { loadSettings } from '../../../src/settings/settings.ts'
import { ADMIN_TOKEN, bridgeEnv, temporaryDirectory } from '../../support/bridge-process.ts'
import { UNKNOWN_STATUS } from '../../support/unknown-status.ts'

test('a running bridge checks itself without a request, and no finding holds a secret', () => {
  using directory = temporaryDirectory()
  const key = 'upstream-key-of-this-test'
  const env = bridgeEnv({ url: 'http://127.0.0.1:9/v2', key }, `${directory.path}/${ADMIN_TOKEN}`)
  const settings = loadSettings(env, () => '')
  const findings = createInsideDoctor(settings, env, { now: () => 0 })(UNKNOWN_STATUS)
  const levelOf = (name: string) => findings.find((finding) => finding.name === name)?.level
  expect(levelOf('node')).toBe('ok')
  expect(levelOf('data')).toBeDefined()
  expect(findings.find(({ name }) => name === 'bridge')?.finding).toContain('this node runs')
  expect(levelOf('leader')).toBe('warn')
  expect(findings.every((finding) => !('area' in finding))).toBe(true)
  const text = JSON.stringify(findings)
  expect(text).toContain('[redacted]')
  for (const secret of [key, ADMIN_TOKEN, env.BRIDGE_SECRET_KEY ?? '']) expect(text).not.toContain(secret)
})
