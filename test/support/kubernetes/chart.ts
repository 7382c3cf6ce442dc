/**
 * Runs helm on the chart with values, and reads what it makes. `.ci/kubernetes-tools` installs the programs; without them
 * tests are skipped, or fail under `REQUIRE_TOOLS=1`.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { root } from '../house/repository.ts'
import { runTool } from '../tools.ts'

/** The folder of the chart. */
export const chart = join(root, 'deploy/helm')

/** Names of the examples of values beside the chart. */
export const examples = readdirSync(join(chart, 'examples')).map((name) => name.replace(/\.yaml$/, ''))

/** A Kubernetes object, as far as all have the same members. */
export interface Resource {
  apiVersion: string
  kind: string
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> }
  spec?: unknown
  data?: Record<string, string>
}

interface Probe {
  httpGet: { path: string; port: string }
}

/** A container, as far as tests look at it. */
export interface Container {
  args: string[]
  env: { name: string; value: string }[]
  ports: { name: string; containerPort: number }[]
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[]
  securityContext: object
  resources: { limits: { memory: string } }
  lifecycle?: { preStop: { sleep: { seconds: number } } }
  startupProbe: Probe & { periodSeconds: number; failureThreshold: number }
  livenessProbe: Probe
  readinessProbe: Probe
}

/** A volume: files of Secrets, or room for data. */
export interface Volume {
  name: string
  projected?: {
    defaultMode: number
    sources: { secret: { name: string; items: { key: string; path: string }[] } }[]
  }
  emptyDir?: { sizeLimit: string }
}

/** The pod of a workload, as far as tests look at it. */
export interface PodSpec {
  containers: [Container]
  volumes: Volume[]
  enableServiceLinks: boolean
  terminationGracePeriodSeconds: number
  affinity?: { podAntiAffinity: Record<string, unknown> }
  securityContext: object
}

/** A Deployment or a StatefulSet. */
export interface Workload extends Resource {
  spec: {
    replicas?: number
    serviceName?: string
    selector: { matchLabels: Record<string, string> }
    template: { metadata: { labels: Record<string, string> }; spec: PodSpec }
    volumeClaimTemplates?: { metadata: { name: string }; spec: object }[]
    strategy?: { rollingUpdate: object }
  }
}

/** Values by their dotted names, in place of those of an example. */
export type Values = Record<string, unknown>

/** Where the programs lie: helm, the folder of Python packages, and that of definitions. */
export const kubernetesTools = execFileSync('bash', [join(root, '.ci/kubernetes-tools'), '--where'], {
  encoding: 'utf8',
}).trim()

/**
 * Whether the programs are there: `test.skipIf(!hasKubernetesTools())`.
 * @throws Error that says how to install them when they are not and `REQUIRE_TOOLS=1`
 */
export function hasKubernetesTools(): boolean {
  const found = existsSync(kubernetesTools)
  if (!found && process.env.REQUIRE_TOOLS === '1')
    throw new Error('There is no helm: run .ci/kubernetes-tools. REQUIRE_TOOLS=1 asks for it.')
  return found
}

/** The values file of an example. */
export function exampleFile(name: string): string {
  return join(chart, 'examples', `${name}.yaml`)
}

/** Runs helm to its end. Its home is the folder of the programs, so no setting of this machine counts. */
export function helm(...args: string[]): ReturnType<typeof runTool> {
  return runTool(join(kubernetesTools, 'helm'), args, { env: { HOME: kubernetesTools } })
}

/** What `helm template` makes of an example, with these values besides. `folder`: a changed copy of the chart. */
export async function render(
  example: string,
  {
    values = {},
    kubernetes = '1.37.0',
    folder = chart,
  }: { values?: Values; kubernetes?: string; folder?: string } = {},
): Promise<{ code: number | null; stderr: string; text: string; resources: Resource[] }> {
  const more = Object.entries(values).flatMap(([name, value]) => [
    '--set-json',
    `${name}=${JSON.stringify(value)}`,
  ])
  const target = ['desk', folder, '--namespace', 'feeds', '--kube-version', kubernetes]
  const { code, stdout, stderr } = await helm(
    'template',
    ...target,
    '--values',
    exampleFile(example),
    ...more,
  )
  const documents = parseAllDocuments(stdout)
  const resources = documents.flatMap((document) => {
    if (document.errors.length > 0) throw new Error(`${example}: ${document.errors[0]?.message}`)
    return (document.toJS() as Resource | null) ?? []
  })
  return { code, stderr, text: stdout, resources }
}

/** Deployments and StatefulSets among the resources, by the set that they run. */
export function workloadsOf(resources: readonly Resource[]): Map<string, Workload> {
  const workloads = resources.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
  return new Map(
    workloads.map((one) => [one.metadata.labels['app.kubernetes.io/component'] ?? '', one as Workload]),
  )
}

/** The one resource of that kind, and of that name after the release's. */
export function resourceOf<Spec>(
  resources: readonly Resource[],
  kind: string,
  name = '',
): Resource & { spec: Spec } {
  const found = resources.filter(
    (one) => one.kind === kind && one.metadata.name === `desk-disclosure-bridge${name}`,
  )
  if (found.length !== 1) throw new Error(`there are ${found.length} of ${kind} ${name}`)
  return found[0] as Resource & { spec: Spec }
}
