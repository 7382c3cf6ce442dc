/**
 * Tests the objects that the chart makes: who reaches whom, how pods start, stop and spread, and that alert rules and
 * dashboards are those of the repository. `schemas.test.ts` checks their form.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadSettings } from '../../../src/settings/settings.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { root } from '../../support/house/repository.ts'
import {
  chart,
  exampleFile,
  examples,
  hasKubernetesTools,
  helm,
  type Resource,
  render,
  resourceOf,
  workloadsOf,
} from '../../support/kubernetes/chart.ts'

const MONITORING = join(root, 'deploy/monitoring')
const filesIn = (folder: string): string[] => readdirSync(join(MONITORING, folder)).sort()
const textOf = (path: string): string => readFileSync(join(MONITORING, path), 'utf8')

/** A copy of the chart that a test may change; its links lead where those of the chart do. */
function copyOfChart(): ReturnType<typeof temporaryDirectory> {
  const directory = temporaryDirectory()
  cpSync(chart, directory.path, { recursive: true })
  return directory
}

interface Peer {
  namespaceSelector?: { matchLabels: Record<string, string> }
  ipBlock?: { cidr: string; except?: string[] }
}
interface Rule {
  ports: { protocol: string; port: number }[]
  from?: Peer[]
  to?: Peer[]
}
interface Policy {
  podSelector: { matchLabels: Record<string, string> }
  ingress: Rule[]
  egress: Rule[]
}

/** Ports and protocols of the rules, each with its peers in short. */
function pathsOf(rules: readonly Rule[]): string[] {
  const short = ({ namespaceSelector, ipBlock }: Peer): string =>
    ipBlock?.cidr ?? Object.values(namespaceSelector?.matchLabels ?? {}).join()
  return rules.map(({ ports, from, to }) => {
    const peers = (from ?? to)?.map(short).join(' ') ?? 'any'
    return `${ports.map(({ protocol, port }) => `${protocol} ${port}`).join(', ')}: ${peers}`
  })
}

describe.skipIf(!hasKubernetesTools())('the chart', () => {
  test('passes helm lint, with each example', async () => {
    for (const example of examples) {
      const linted = await helm(
        'lint',
        chart,
        '--strict',
        '--kube-version',
        '1.37.0',
        '-f',
        exampleFile(example),
      )
      expect(linted.stdout).toContain('0 chart(s) failed')
      expect(linted.code).toBe(0)
    }
  })

  test.for(examples)('%s: every pod is closed, and its Services give it no settings', async (example) => {
    const { resources } = await render(example)
    for (const [name, { spec }] of workloadsOf(resources)) {
      const pod = spec.template.spec
      expect(pod, name).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          fsGroup: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        },
      })
      expect(pod.containers[0], name).toMatchObject({
        args: ['run'],
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: { limits: { memory: expect.stringMatching(/^[2-9]Gi$/) } },
      })
      const [data, files] = pod.containers[0].volumeMounts
      expect(data).toEqual({ name: 'data', mountPath: '/data' })
      expect(files).toEqual({ name: 'files', mountPath: '/etc/bridge/files', readOnly: true })
      // Readable for the group that fsGroup gives them, writable for nobody.
      expect(pod.volumes.find((one) => one.name === 'files')?.projected?.defaultMode).toBe(0o440)
    }
  })

  test.for(examples)('%s: a pod may take as long as its process to start and to stop', async (example) => {
    const { resources } = await render(example)
    for (const [name, { spec }] of workloadsOf(resources)) {
      const pod = spec.template.spec
      const [container] = pod.containers
      const env = Object.fromEntries(container.env.map((one) => [one.name, one.value]))
      const { drainTimeoutMs } = loadSettings({
        BRIDGE_ROLES: 'poller',
        BRIDGE_UPSTREAM_URL: 'https://x/v2',
        BRIDGE_UPSTREAM_KEY: 'x',
        BRIDGE_DRAIN_TIMEOUT: env.BRIDGE_DRAIN_TIMEOUT,
      })
      const leavingS = container.lifecycle?.preStop.sleep.seconds ?? 0
      // Tasks first, then answers under way: src/app/app.ts.
      expect(pod.terminationGracePeriodSeconds, name).toBeGreaterThan(leavingS + (2 * drainTimeoutMs) / 1000)
      const { periodSeconds, failureThreshold } = container.startupProbe
      expect(periodSeconds * failureThreshold).toBe(example === 'kafka-everything' ? 1800 : 900)
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/healthz', port: 'ops' } },
        livenessProbe: { httpGet: { path: '/healthz', port: 'ops' } },
        readinessProbe: { httpGet: { path: '/readyz', port: 'ops' } },
      })
      expect(container.ports.map((port) => `${port.name} ${port.containerPort}`)).toEqual(
        /bridge|readers/.test(name) ? ['http 8080', 'ops 9464'] : ['ops 9464'],
      )
    }
  })

  test('embedded: one pod with a volume that outlives it, and nothing that would scale it or hold up a drain', async () => {
    const { resources } = await render('embedded')
    const bridge = workloadsOf(resources).get('bridge')
    expect(bridge).toMatchObject({
      kind: 'StatefulSet',
      spec: {
        replicas: 1,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } }],
      },
    })
    expect(resources.map(({ kind }) => kind).sort()).toEqual([
      'Service',
      'Service',
      'ServiceAccount',
      'StatefulSet',
    ])
  })

  test('kafka: pollers stand on two nodes with replicas that outlive them, and one pod of a set may leave at a time', async () => {
    const { resources } = await render('kafka')
    const sets = workloadsOf(resources)
    expect([...sets].map(([name, { kind, spec }]) => `${name} ${kind} ${spec.replicas}`)).toEqual([
      'readers Deployment 2',
      'webhooks Deployment 2',
      'poller StatefulSet 2',
    ])
    expect(sets.get('poller')?.spec.template.spec.affinity).toEqual({
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          {
            topologyKey: 'kubernetes.io/hostname',
            labelSelector: { matchLabels: sets.get('poller')?.spec.selector.matchLabels },
          },
        ],
      },
    })
    for (const [name, { spec }] of sets) {
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels)
      expect(resourceOf(resources, 'PodDisruptionBudget', `-${name}`).spec).toMatchObject({
        maxUnavailable: 1,
        selector: { matchLabels: spec.selector.matchLabels },
      })
    }
    expect(sets.get('readers')?.spec.strategy?.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 })
  })

  test('a set that scales has no number of replicas, and shrinks slowly', async () => {
    const { resources } = await render('kafka-everything')
    for (const [name, kind, most] of [
      ['readers', 'Deployment', 12],
      ['webhooks', 'StatefulSet', 8],
    ] as const) {
      const workload = workloadsOf(resources).get(name)
      expect([workload?.kind, workload?.spec.replicas]).toEqual([kind, undefined])
      expect(resourceOf(resources, 'HorizontalPodAutoscaler', `-${name}`).spec).toMatchObject({
        scaleTargetRef: { kind, name: workload?.metadata.name },
        maxReplicas: most,
        behavior: { scaleDown: { stabilizationWindowSeconds: 900 } },
      })
    }
  })

  test('readers reach the pods that serve them, and Prometheus reaches all of them, ready or not', async () => {
    for (const example of examples) {
      const { resources } = await render(example)
      const sets = workloadsOf(resources)
      const chosen = (name: string): string[] => {
        const { selector } = resourceOf<{ selector: Record<string, string> }>(resources, 'Service', name).spec
        const isChosen = (labels: Record<string, string>): boolean =>
          Object.entries(selector).every(([label, value]) => labels[label] === value)
        return [...sets].flatMap(([set, { spec }]) => (isChosen(spec.template.metadata.labels) ? [set] : []))
      }
      expect(chosen('')).toEqual([example === 'embedded' ? 'bridge' : 'readers'])
      expect(chosen('-ops')).toEqual([...sets.keys()])
      expect(resourceOf(resources, 'Service', '-ops').spec).toMatchObject({
        clusterIP: 'None',
        publishNotReadyAddresses: true,
      })
      const governed = [...sets.values()].flatMap(({ spec }) => spec.serviceName ?? [])
      for (const name of governed) expect(name).toBe('desk-disclosure-bridge-ops')
    }
  })

  test('Ingress and route cut no stream: they wait for an hour or for ever, and keep nothing back', async () => {
    const { resources } = await render('kafka-everything')
    const ingress = resourceOf<{ tls: { secretName: string }[] }>(resources, 'Ingress')
    expect(ingress.metadata.annotations).toEqual({
      'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
      'nginx.ingress.kubernetes.io/proxy-request-buffering': 'off',
      'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
      'nginx.ingress.kubernetes.io/proxy-send-timeout': '3600',
    })
    expect(ingress.spec.tls).toEqual([{ hosts: ['bridge.example'], secretName: 'bridge-tls' }])
    expect(resourceOf(resources, 'HTTPRoute').spec).toMatchObject({
      rules: [
        {
          timeouts: { request: '0s', backendRequest: '0s' },
          backendRefs: [{ name: resourceOf(resources, 'Service').metadata.name, port: 80 }],
        },
      ],
    })
  })

  test('each set may reach what its roles need, and only monitoring reaches the ops listener', async () => {
    const { resources } = await render('kafka-everything')
    const policies = Object.fromEntries(
      [...workloadsOf(resources)].map(([name, { spec }]) => {
        const policy = resourceOf<Policy>(resources, 'NetworkPolicy', `-${name}`).spec
        expect(policy.podSelector.matchLabels).toEqual(spec.selector.matchLabels)
        return [name, { ingress: pathsOf(policy.ingress), egress: pathsOf(policy.egress) }]
      }),
    )
    const dns = 'TCP 53, UDP 53: kube-system'
    const kafka = 'TCP 9093, TCP 9094: 10.8.0.0/24'
    const more = ['TCP 4318: monitoring', 'TCP 3128: 10.9.0.7/32']
    const ops = 'TCP 9464: monitoring'
    expect(policies).toEqual({
      poller: { ingress: [ops], egress: [dns, kafka, 'TCP 8443: 203.0.113.0/24', ...more] },
      readers: { ingress: ['TCP 8080: ingress', ops], egress: [dns, kafka, ...more] },
      webhooks: {
        ingress: [ops],
        egress: [dns, kafka, 'TCP 443, TCP 8443, TCP 9443: 0.0.0.0/0 ::/0', ...more],
      },
    })
  })

  test('embedded: the one process may reach its upstream and webhooks beyond the private nets', async () => {
    const { resources } = await render('embedded', { values: { 'networkPolicy.enabled': true } })
    const { ingress, egress } = resourceOf<Policy>(resources, 'NetworkPolicy', '-bridge').spec
    expect(pathsOf(ingress)).toEqual(['TCP 8080: any', 'TCP 9464: monitoring'])
    expect(pathsOf(egress)).toEqual([
      'TCP 53, UDP 53: any',
      'TCP 443: any',
      'TCP 443, TCP 8443: 0.0.0.0/0 ::/0',
    ])
    expect(egress[2]?.to?.[0]?.ipBlock?.except).toContain('169.254.0.0/16')
  })
})

describe.skipIf(!hasKubernetesTools())('what watches the chart', () => {
  test('targets have the job of the rules, a name of their own, and that of the installation', async () => {
    const { resources } = await render('kafka-everything')
    const { spec } = resourceOf<{
      selector: { matchLabels: object }
      endpoints: { relabelings: object[] }[]
    }>(resources, 'ServiceMonitor')
    const ops = resourceOf(resources, 'Service', '-ops')
    expect(ops.metadata.labels).toMatchObject(spec.selector.matchLabels)
    expect(spec.endpoints[0]).toMatchObject({ port: 'ops', path: '/metrics', interval: '10s' })
    expect(spec.endpoints[0]?.relabelings).toEqual([
      { action: 'replace', targetLabel: 'job', replacement: 'bridge' },
      {
        action: 'replace',
        sourceLabels: ['__meta_kubernetes_namespace', '__meta_kubernetes_pod_name'],
        separator: '/',
        targetLabel: 'instance',
      },
      { action: 'replace', targetLabel: 'installation', replacement: 'disclosures-production' },
    ])
  })

  test('alert rules and dashboards are those of the repository, to the letter', async () => {
    const { resources } = await render('kafka-everything')
    const groups = filesIn('rules').flatMap(
      (name) => (parse(textOf(`rules/${name}`)) as { groups: object[] }).groups,
    )
    expect(resourceOf(resources, 'PrometheusRule').spec).toEqual({ groups })
    const maps = resources.filter(({ kind }) => kind === 'ConfigMap')
    const dashboards = maps.flatMap(({ data = {} }) => Object.entries(data))
    expect(dashboards.map(([name]) => name)).toEqual(
      filesIn('dashboards').map((name) => `disclosure-${name}`),
    )
    for (const [name, text] of dashboards) {
      expect(text.trim()).toBe(textOf(`dashboards/${name.replace(/^disclosure-/, '')}`).trim())
    }
  })

  test('links of alerts begin with the addresses of the values', async () => {
    const { resources } = await render('kafka-everything', {
      values: {
        'monitoring.rules.runbooks': 'https://wiki.example/bridge',
        'monitoring.rules.grafana': 'https://grafana.example/',
      },
    })
    const { groups } = resourceOf(resources, 'PrometheusRule').spec as {
      groups: { rules: { alert?: string; annotations?: Record<string, string> }[] }[]
    }
    const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined)
    expect(alerts.length).toBeGreaterThan(30)
    for (const { alert, annotations = {} } of alerts) {
      expect(annotations.runbook_url, alert).toContain('{{ or "https://wiki.example/bridge" ')
      expect(annotations.dashboard_url, alert).toContain('{{ with "https://grafana.example" }}')
    }
    expect(JSON.stringify(groups)).not.toContain('$externalLabels')
  })

  test('a chart whose links were lost refuses to watch without rules', async () => {
    using copy = copyOfChart()
    rmSync(join(copy.path, 'rules'), { recursive: true })
    const { code, stderr } = await render('embedded', {
      folder: copy.path,
      values: { 'monitoring.rules.enabled': true },
    })
    expect([code, stderr]).toEqual([1, expect.stringContaining('this chart has no rules')])
  })

  test.for([
    [
      'embedded',
      [
        'mode embedded',
        'statefulset/desk-disclosure-bridge-bridge',
        'port-forward',
        'nothing watches',
        'Make backups',
      ],
    ],
    [
      'kafka',
      [
        'mode kafka',
        'statefulset/desk-disclosure-bridge-poller',
        'deployment/desk-disclosure-bridge-readers',
        'networkPolicy.enabled',
      ],
    ],
    [
      'kafka-everything',
      [
        '"disclosures-production"',
        'statefulset/desk-disclosure-bridge-webhooks',
        'https://bridge.example/console/',
      ],
    ],
  ] as const)('the notes of %s name what it has, and what to do next', async ([example, parts]) => {
    using copy = copyOfChart()
    const shown =
      'metadata: { name: shown, labels: {} }\nspec: |\n  {{- include "bridge.notes" . | nindent 2 }}\n'
    writeFileSync(join(copy.path, 'templates/shown.yaml'), `apiVersion: v1\nkind: Notes\n${shown}`)
    const { resources } = await render(example, { folder: copy.path })
    const notes = (resources.find(({ kind }) => kind === 'Notes') as Resource | undefined)?.spec
    for (const part of parts) expect(notes).toContain(part)
    expect(notes).not.toContain('<no value>')
    if (example === 'kafka-everything') expect(notes).not.toContain('To do')
  })
})
