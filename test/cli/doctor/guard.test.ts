import { expect, test } from 'vitest'
import { checkGuard } from '../../../src/cli/doctor/guard.ts'
import { examineSettings } from '../../../src/settings/settings.ts'

const noFile = (path: string): never => {
  throw Object.assign(new Error(path), { code: 'ENOENT' })
}

function guard(env: Record<string, string>) {
  return checkGuard(examineSettings({ BRIDGE_ROLES: 'webhooks', ...env }, noFile).settings)
}

test('the default address guard is in order, and is not checked on a node without webhooks', () => {
  expect(guard({})).toMatchObject([{ level: 'ok', finding: 'webhooks reach public hosts on 443, 8443' }])
  expect(guard({ BRIDGE_ROLES: 'poller' })).toEqual([])
})

test.each([
  ['127.0.0.0/8', 'ok', 'this machine'],
  ['10.20.0.0/16,192.168.0.0/24', 'ok', 'private networks'],
  ['0.0.0.0/0', 'warn', 'this machine, private networks, cloud metadata'],
  ['169.254.0.0/16', 'warn', 'cloud metadata'],
  ['::/0', 'warn', 'this machine, private networks, cloud metadata'],
])('allowed nets %s are reported as %s', (nets, level, open) => {
  const [finding] = guard({ BRIDGE_WEBHOOK_ALLOW_NETS: nets })
  expect(finding).toMatchObject({ level, finding: expect.stringContaining(open) })
})

test('plain http causes a warning', () => {
  expect(guard({ BRIDGE_WEBHOOK_ALLOW_HTTP: 'true' })).toMatchObject([
    { level: 'ok' },
    { level: 'warn', finding: expect.stringContaining('plain http') },
  ])
})
