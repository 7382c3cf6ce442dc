/**
 * Checks which private addresses webhooks may reach with these settings, and warns about dangerous ones. Sends nothing.
 */
import type { Settings } from '../../settings/settings.ts'
import { addressRules, judgeAddress } from '../../webhooks/address/rules.ts'
import { type Finding, fine, warn } from './finding.ts'

/** Sample addresses of networks that a tenant's webhook should not reach unless the operator allows it. */
const SPECIAL = [
  { sort: 'this machine', addresses: ['127.0.0.1', '::1'] },
  { sort: 'private networks', addresses: ['10.0.0.1', '172.16.0.1', '192.168.0.1', 'fd00::1'] },
  { sort: 'cloud metadata', addresses: ['169.254.169.254', '100.100.100.200', 'fd00:ec2::254'] },
] as const

/** Empty without the role `webhooks`; else what can be reached, with warnings for what is dangerous outside tests. */
export function checkGuard({ roles, webhooks }: Pick<Settings, 'roles' | 'webhooks'>): Finding[] {
  if (!roles.includes('webhooks')) return []
  const rules = addressRules(webhooks)
  const open = SPECIAL.filter(({ addresses }) =>
    addresses.some((address) => judgeAddress(address, rules).kind === 'allowed'),
  ).map(({ sort }) => sort)
  const nets = webhooks.allowNets.length === 0 ? '' : ` and ${webhooks.allowNets.join(', ')}`
  const way = webhooks.proxy === null ? '' : ', through a proxy'
  const reach = `webhooks reach public hosts on ${webhooks.ports.join(', ')}${nets}${way}`
  const wide = open.includes('cloud metadata')
  return [
    wide
      ? warn(
          'guard',
          `${reach}: these networks include ${open.join(', ')}`,
          'name smaller networks in BRIDGE_WEBHOOK_ALLOW_NETS: every tenant can reach every host in them',
        )
      : fine('guard', open.length === 0 ? reach : `${reach} (${open.join(', ')})`),
    ...(webhooks.allowHttp
      ? [
          warn(
            'guard',
            'webhooks may use plain http: anybody on the network path can read them',
            'unset BRIDGE_WEBHOOK_ALLOW_HTTP if all receivers have https',
          ),
        ]
      : []),
  ]
}
