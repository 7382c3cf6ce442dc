/**
 * Validates what the chart makes: objects of Kubernetes strictly by the schemas of every supported version, and custom
 * resources by the definitions that their operators install.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import {
  chart,
  examples,
  hasKubernetesTools,
  kubernetesTools,
  type Resource,
  render,
} from '../../support/kubernetes/chart.ts'
import { runTool } from '../../support/tools.ts'

/** The first is the oldest that `Chart.yaml` names, the last the newest that kubernetes-validate knows. */
const VERSIONS = ['1.31', '1.32', '1.33', '1.34', '1.35', '1.36', '1.37']
const DEFINITIONS = {
  ServiceMonitor: 'monitoring.coreos.com_servicemonitors',
  PrometheusRule: 'monitoring.coreos.com_prometheusrules',
  HTTPRoute: 'gateway.networking.k8s.io_httproutes',
}

/** Validates these texts, each of several documents. The findings are what the tool prints, line by line. */
async function validate(
  version: string,
  texts: Readonly<Record<string, string>>,
): Promise<{ code: number | null; findings: string[] }> {
  using directory = temporaryDirectory()
  const files = Object.entries(texts).map(([name, text]) => {
    const file = join(directory.path, `${name}.yaml`)
    writeFileSync(file, text)
    return file
  })
  const args = ['-m', 'kubernetes_validate', '-k', version, '--strict', '--quiet', ...files]
  const { code, stdout, stderr } = await runTool('python3', args, {
    env: { PYTHONPATH: join(kubernetesTools, 'python') },
  })
  return { code, findings: (stdout + stderr).split('\n').filter(Boolean) }
}

interface Schema {
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema | boolean
  'x-kubernetes-preserve-unknown-fields'?: true
}

/** The same schema, which also refuses members that it does not name: Kubernetes drops those without a word. */
function closed(schema: Schema): Schema {
  const { properties, items, additionalProperties } = schema
  const inner = Object.entries(properties ?? {}).map(([name, one]) => [name, closed(one)])
  const open = properties === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true
  return {
    ...schema,
    ...(properties && { properties: Object.fromEntries(inner) }),
    ...(items && { items: closed(items) }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: closed(additionalProperties) }
      : !open && { additionalProperties: false }),
  }
}

/** Compiles the definition of a custom resource. */
function acceptorOf(kind: keyof typeof DEFINITIONS, { apiVersion }: Resource): ValidateFunction {
  const text = readFileSync(join(kubernetesTools, 'definitions', `${DEFINITIONS[kind]}.yaml`), 'utf8')
  const { spec } = parse(text) as {
    spec: {
      group: string
      versions: { name: string; served: boolean; schema: { openAPIV3Schema: Schema } }[]
    }
  }
  const version = spec.versions.find(({ name, served }) => served && `${spec.group}/${name}` === apiVersion)
  if (version === undefined) throw new Error(`${kind} has no version ${apiVersion}`)
  const schema = closed(version.schema.openAPIV3Schema)
  // The API server knows any member of the metadata.
  const open = { ...schema, properties: { ...schema.properties, metadata: {} } }
  return new Ajv({
    strict: false,
    allErrors: true,
    validateFormats: false,
    code: { regExp: goPattern },
  }).compile(open)
}

/** Patterns are those of Go, which may begin with a flag. */
function goPattern(pattern: string): RegExp {
  return new RegExp(pattern.replace('(?i)', ''), pattern.includes('(?i)') ? 'i' : '')
}
goPattern.code = 'goPattern'

describe.skipIf(!hasKubernetesTools())('by its schemas', () => {
  const texts: Record<string, string> = {}
  let everything: Resource[] = []

  beforeAll(async () => {
    for (const example of examples) {
      const { code, text, resources } = await render(example)
      expect(code).toBe(0)
      texts[example] = text
      if (example === 'kafka-everything') everything = resources
    }
  })

  test('the chart names the oldest version that is validated, and renders for it and no older one', async () => {
    const { kubeVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as { kubeVersion: string }
    expect(kubeVersion).toBe(`>=${VERSIONS[0]}.0-0`)
    for (const example of examples) {
      expect((await render(example, { kubernetes: `${VERSIONS[0]}.0` })).text).toBe(texts[example])
    }
    expect((await render('embedded', { kubernetes: '1.30.9' })).stderr).toContain(
      'incompatible with Kubernetes',
    )
  })

  test.for(VERSIONS)('every object is one that Kubernetes %s knows, member by member', async (version) => {
    const { code, findings } = await validate(version, texts)
    const unknown = findings.map((line) => /Couldn't find schema for kind (\w+) /.exec(line)?.[1] ?? line)
    expect({ code, unknown: unknown.sort() }).toEqual({ code: 0, unknown: Object.keys(DEFINITIONS).sort() })
  })

  test('a misspelt member is found', async () => {
    const misspelt = texts.embedded?.replace('livenessProbe:', 'livenessProb:') ?? ''
    const { code, findings } = await validate('1.34', { misspelt })
    expect(code).toBe(1)
    expect(findings.join()).toContain('livenessProb')
  })

  test.for(Object.keys(DEFINITIONS) as (keyof typeof DEFINITIONS)[])(
    '%s is as its operator defines it, which refuses a member that it does not know',
    (kind) => {
      const [resource, ...others] = everything.filter((one) => one.kind === kind)
      if (resource === undefined) throw new Error(`there is no ${kind}`)
      expect(others).toEqual([])
      const accepts = acceptorOf(kind, resource)
      accepts(resource)
      expect(accepts.errors).toBeNull()
      expect(accepts({ ...resource, spec: { ...(resource.spec as object), selectr: {} } })).toBe(false)
    },
  )
})
