/**
 * What the address guard of webhooks lets through with these settings, by asking it. Owns what an operator should be told
 * of. Refuses to send anything anywhere.
 */
import type { Settings } from '../../settings/settings.ts'
import { judgeAddress } from '../../webhooks/address/judge-address.ts'
import { addressRules } from '../../webhooks/address/rules.ts'
import { type Finding, fine } from './finding.ts'

/** Some address of each sort that a tenant's webhook has no business at, unless the operator says so. */
const SPECIAL = [
  { sort: 'this machine', addresses: ['127.0.0.1', '::1'] },
  { sort: 'private nets', addresses: ['10.0.0.1', '172.16.0.1', '192.168.0.1', 'fd00::1'] },
  { sort: 'metadata of clouds', addresses: ['169.254.169.254', '100.100.100.200', 'fd00:ec2::254'] },
] as const

/** Nothing without the role `webhooks`; else what is open, and a warning for what is dangerous outside of tests. */
export function checkGuard({ roles, webhooks }: Pick<Settings, 'roles' | 'webhooks'>): Finding[] {
  if (!roles.includes('webhooks')) return []
  const rules = addressRules(webhooks)
  const open = SPECIAL.filter(({ addresses }) =>
    addresses.some((address) => judgeAddress(address, rules).kind === 'allowed'),
  ).map(({ sort }) => sort)
  const nets = webhooks.allowNets.length === 0 ? '' : ` and ${webhooks.allowNets.join(', ')}`
  const way = webhooks.proxy === null ? '' : ', through a proxy'
  const reach = `webhooks reach public hosts on ${webhooks.ports.join(', ')}${nets}${way}`
  const warn = (finding: string, todo: string): Finding => ({
    level: 'warn',
    name: 'guard',
    finding,
    todo,
    area: 'settings',
  })
  const wide = open.includes('metadata of clouds')
  return [
    wide
      ? warn(
          `${reach}: ${open.join(', ')} lie in these nets`,
          'name smaller nets in BRIDGE_WEBHOOK_ALLOW_NETS: every tenant reaches every host in them',
        )
      : fine('guard', open.length === 0 ? reach : `${reach} (${open.join(', ')})`),
    ...(webhooks.allowHttp
      ? [
          warn(
            'webhooks may go over plain http: anybody on the way reads them',
            'unset BRIDGE_WEBHOOK_ALLOW_HTTP where receivers have https',
          ),
        ]
      : []),
  ]
}
