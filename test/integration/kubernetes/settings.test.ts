/**
 * Reads the environment of each container that the chart makes with the product's own parser, where its volumes have the
 * files of the Secrets. Also tests which values the schema of the chart refuses.
 */
import { describe, expect, test } from 'vitest'
import { fileNames } from '../../../src/settings/environment.ts'
import { settingNames } from '../../../src/settings/schema.ts'
import { loadSettings, roleNames, type Settings } from '../../../src/settings/settings.ts'
import {
  chart,
  exampleFile,
  examples,
  hasKubernetesTools,
  helm,
  type PodSpec,
  render,
  type Values,
  workloadsOf,
} from '../../support/kubernetes/chart.ts'
import { createTestAuthority } from '../../support/test-certificates.ts'

const authority = createTestAuthority()
const user = authority.issue(['bridge'])
/** What the Secrets hold that the examples name. */
const SECRETS: Record<string, Record<string, string>> = {
  'bridge-secrets': {
    'upstream-key': 'key-of-upstream',
    'admin-token': 'admin-token-of-the-bridge',
    'secret-key': 'secret-key-of-32-characters-or-more',
    'secret-key-old': 'the-one-before-of-32-characters-or-more',
    'webhook-proxy': 'http://proxy.example:3128',
    'otlp-headers': 'api-key=a%20key',
  },
  'kafka-authorities': { 'ca.crt': authority.ca },
  'kafka-user': { 'user.crt': user.cert, 'user.key': user.key, password: 'password' },
}

/** The files that the pod's volumes give its container, by path. */
function filesOf({ containers: [container], volumes }: PodSpec): Map<string, string> {
  const files = new Map<string, string>()
  for (const { name, mountPath } of container.volumeMounts) {
    const volume = volumes.find((one) => one.name === name)
    for (const { secret } of volume?.projected?.sources ?? []) {
      for (const { key, path } of secret.items) {
        const text = SECRETS[secret.name]?.[key]
        if (text === undefined) throw new Error(`no Secret ${secret.name} has ${key}`)
        if (files.has(`${mountPath}/${path}`)) throw new Error(`two Secrets are at ${mountPath}/${path}`)
        files.set(`${mountPath}/${path}`, text)
      }
    }
  }
  return files
}

/** What each set of processes starts with: its settings as the product reads them, and its files. */
async function startedWith(
  example: string,
  values: Values = {},
): Promise<
  Map<string, { settings: Readonly<Settings>; files: readonly string[]; names: readonly string[] }>
> {
  const { code, stderr, resources } = await render(example, { values })
  if (code !== 0) throw new Error(stderr)
  const sets = [...workloadsOf(resources)].map(([name, { spec }]) => {
    const pod = spec.template.spec
    const env = pod.containers[0].env
    const files = filesOf(pod)
    const settings = loadSettings(Object.fromEntries(env.map(({ name, value }) => [name, value])), (path) => {
      const text = files.get(path)
      if (text === undefined) throw Object.assign(new Error(`no file ${path}`), { code: 'ENOENT' })
      return text
    })
    const [container] = pod.containers
    for (const { name: port, containerPort } of container.ports) {
      expect(containerPort).toBe(port === 'ops' ? settings.ops.port : settings.http.port)
    }
    return [name, { settings, files: [...files.keys()], names: env.map((one) => one.name) }] as const
  })
  return new Map(sets)
}

describe.skipIf(!hasKubernetesTools())('the settings of the chart', () => {
  test.for(examples)(
    '%s: the product takes them without a warning, and together the processes have every role',
    async (example) => {
      const sets = await startedWith(example)
      const known: ReadonlySet<string> = new Set([...settingNames, ...fileNames.keys()])
      for (const [name, { settings, names }] of sets) {
        expect(settings.warnings, name).toEqual([])
        expect(
          names.filter((one) => one.startsWith('BRIDGE_') && !known.has(one)),
          name,
        ).toEqual([])
        expect(new Set(names).size, name).toBe(names.length)
        expect(settings).toMatchObject({ dataDir: '/data/bridge', http: { host: '0.0.0.0', port: 8080 } })
      }
      const roles = [...sets.values()].flatMap(({ settings }) => settings.roles)
      expect(roles.toSorted()).toEqual(roleNames.toSorted())
    },
  )

  test('embedded: one process has every role, the log in its volume, and a name of its own', async () => {
    const sets = await startedWith('embedded')
    expect([...sets.keys()]).toEqual(['bridge'])
    expect(sets.get('bridge')?.settings).toMatchObject({ kafka: null, installation: 'feeds.desk' })
  })

  test('kafka: each process gets the secrets of its roles and no other', async () => {
    const sets = await startedWith('kafka')
    const files = Object.fromEntries([...sets].map(([name, set]) => [name, set.files]))
    const readers = ['/etc/bridge/files/admin-token', '/etc/bridge/files/secret-key']
    expect(files).toEqual({ poller: ['/etc/bridge/files/upstream-key'], readers, webhooks: readers })
    for (const { settings } of sets.values()) expect(settings.installation).toBe('feeds.desk')
  })

  test('kafka with everything: access to Kafka is the same for all, and secrets follow the roles', async () => {
    const sets = await startedWith('kafka-everything')
    for (const { settings } of sets.values()) {
      expect(settings).toMatchObject({
        installation: 'disclosures-production',
        drainTimeoutMs: 45_000,
        gatewayUnits: 1000,
        kafka: {
          brokers: ['kafka-1.example:9093', 'kafka-2.example:9093', 'kafka-3.example:9094'],
          tls: { ca: authority.ca, cert: user.cert, key: user.key },
          sasl: { mechanism: 'scram-sha-512', username: 'bridge', password: 'password' },
          topics: { prefix: 'production', replication: 3 },
        },
        traces: { headers: { 'api-key': 'a key' }, ratio: 0.1 },
      })
    }
    expect(sets.get('poller')?.settings).toMatchObject({
      upstream: { key: 'key-of-upstream' },
      oldSecretKey: null,
    })
    expect(sets.get('readers')?.settings).toMatchObject({ upstream: null, webhooks: { proxy: null } })
    expect(sets.get('readers')?.settings.oldSecretKey).toBe('the-one-before-of-32-characters-or-more')
    expect(sets.get('webhooks')?.settings.webhooks).toMatchObject({ proxy: 'http://proxy.example:3128' })
  })

  test('without the console no process has its role', async () => {
    for (const example of ['embedded', 'kafka']) {
      const sets = await startedWith(example, { console: false })
      const roles = [...sets.values()].flatMap(({ settings }) => settings.roles)
      expect(roles.toSorted()).toEqual(roleNames.filter((role) => role !== 'console').toSorted())
    }
  })

  test('a name of an installation that is too long is refused', async () => {
    const name = 'n'.repeat(60)
    const { code, stderr } = await helm(
      'template',
      'r'.repeat(53),
      chart,
      '--namespace',
      name,
      '--kube-version',
      '1.37.0',
      '--values',
      exampleFile('embedded'),
    )
    expect([code, stderr]).toEqual([1, expect.stringContaining('set installation')])
  })
})

describe.skipIf(!hasKubernetesTools())('the schema refuses', () => {
  const broker = ['kafka-1.example:9092']
  const refused: [what: string, example: string, values: Values, at: RegExp][] = [
    ['two replicas of the embedded mode', 'embedded', { 'bridge.replicas': 2 }, /\/bridge\/replicas/],
    [
      'scaling of the embedded mode',
      'embedded',
      { 'bridge.autoscaling': { minReplicas: 1, maxReplicas: 2 } },
      /\/bridge/,
    ],
    [
      'the embedded mode without a volume',
      'embedded',
      { 'bridge.persistence.enabled': false },
      /\/bridge\/persistence/,
    ],
    ['readers in the embedded mode', 'embedded', { 'readers.replicas': 3 }, /\/readers/],
    ['brokers in the embedded mode', 'embedded', { 'kafka.brokers': broker }, /\/kafka/],
    [
      'topics in the embedded mode',
      'embedded',
      { 'settings.BRIDGE_TOPIC_PREFIX': 'x' },
      /BRIDGE_TOPIC_PREFIX/,
    ],
    ['the mode kafka without brokers', 'embedded', { mode: 'kafka' }, /brokers/],
    ['the one process in the mode kafka', 'kafka', { 'bridge.priorityClassName': 'x' }, /\/bridge/],
    ['a third mode', 'embedded', { mode: 'memory' }, /\/mode/],
    ['an unknown value', 'embedded', { replicas: 2 }, /'replicas' not allowed/],
    ['an unknown value of a set', 'kafka', { 'poller.replica': 2 }, /'replica' not allowed/],
    [
      'a setting that there is not',
      'embedded',
      { 'settings.BRIDGE_UPSTREM_PLAN': 'lite' },
      /'BRIDGE_UPSTREM_PLAN'/,
    ],
    [
      'a setting that the chart gives',
      'embedded',
      { 'settings.BRIDGE_DATA_DIR': '/tmp' },
      /'BRIDGE_DATA_DIR'/,
    ],
    [
      'a secret among the settings',
      'embedded',
      { 'settings.BRIDGE_ADMIN_TOKEN': 'x' },
      /'BRIDGE_ADMIN_TOKEN'/,
    ],
    [
      'a number, which YAML may write as 1e+06',
      'embedded',
      { 'settings.BRIDGE_UPSTREAM_RATE': 5 },
      /BRIDGE_UPSTREAM_RATE/,
    ],
    [
      'an upstream without /v2',
      'embedded',
      { 'settings.BRIDGE_UPSTREAM_URL': 'https://upstream.example' },
      /BRIDGE_UPSTREAM_URL/,
    ],
    ['no name of a Secret', 'embedded', { 'secrets.name': '' }, /\/secrets\/name/],
    [
      'a setting among the variables of Node',
      'embedded',
      { extraEnv: [{ name: 'BRIDGE_URL', value: 'x' }] },
      /\/extraEnv/,
    ],
    ['more processes for webhooks than shards', 'kafka', { 'webhooks.replicas': 65 }, /\/webhooks\/replicas/],
    ['a scaled poller', 'kafka', { 'poller.autoscaling': { minReplicas: 1, maxReplicas: 2 } }, /\/poller/],
    [
      'an Ingress without TLS',
      'embedded',
      { 'ingress.enabled': true, 'ingress.host': 'x.example' },
      /tlsSecret/,
    ],
    [
      'a route without a gateway',
      'embedded',
      { 'httpRoute.enabled': true, 'httpRoute.hostnames': ['x.example'] },
      /parentRefs/,
    ],
  ]
  test.for(refused)('%s', async ([, example, values, at]) => {
    const { code, stderr } = await render(example, { values })
    expect(code).toBe(1)
    expect(stderr).toMatch(/values don't meet the specifications of the schema/)
    expect(stderr).toMatch(at)
  })
})
