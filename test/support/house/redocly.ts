/** Lints an API document with every rule of Redocly, except those explained here, without any network access. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../bridge-process.ts'

/** Rules that do not apply to this product, or that it exceeds. */
const RULES = {
  // There is no contact before the first release.
  'info-contact': 'off',
  // Descriptions state the form of values, and patterns where there is one.
  'scalar-property-missing-example': 'off',
  // Upstream promises no length; our own non-empty values are so by their pattern.
  'required-string-property-missing-min-length': 'off',
  // `/v1`, `/v2` and paths that end in what is done are the contract's.
  'path-segment-plural': 'off',
  // Paths below `/v2` return upstream's own errors; openapi-rules.ts checks all others for `Problem`.
  'operation-4xx-problem-details-rfc7807': 'off',
  'request-mime-type': { severity: 'error', allowedValues: ['application/json'] },
  'response-mime-type': {
    severity: 'error',
    allowedValues: ['application/json', 'application/problem+json', 'text/event-stream'],
  },
}

/** Accepted single findings, by rule and place, with their reason. */
const EXPLAINED: Readonly<Record<string, string>> = {
  'operation-2xx-response #/paths/~1v1~1stream/get/responses':
    'a WebSocket begins with 101; this path has no other good answer',
}

/** A line each: rule, place, sentence. */
export interface LintFindings {
  wrong: string[]
  /** Findings with an explanation, rule and place; what is explained and not found is missing. */
  explained: string[]
}

interface Report {
  problems: { ruleId: string; message: string; location: { pointer?: string }[] }[]
}

/** Every accepted finding. */
export const explanations: readonly string[] = Object.keys(EXPLAINED)

/** Lints a document of OpenAPI or AsyncAPI. */
export async function lintFindings(document: object): Promise<LintFindings> {
  const { problems } = JSON.parse(await redocly(document)) as Report
  const findings: LintFindings = { wrong: [], explained: [] }
  for (const { ruleId, message, location } of problems) {
    const place = `${ruleId} ${location[0]?.pointer ?? ''}`
    if (EXPLAINED[place] === undefined) findings.wrong.push(`${place}: ${message}`)
    else findings.explained.push(place)
  }
  return findings
}

/** Its report as JSON. It exits with 1 if it finds something. */
async function redocly(document: object): Promise<string> {
  using directory = temporaryDirectory()
  const rules = { telemetry: 'off', extends: ['all'], rules: RULES }
  writeFileSync(join(directory.path, 'redocly.yaml'), JSON.stringify(rules))
  writeFileSync(join(directory.path, 'document.json'), JSON.stringify(document))
  const program = join(dirname(fileURLToPath(import.meta.resolve('@redocly/cli/package.json'))), 'bin/cli.js')
  const args = ['lint', 'document.json', '--format=json', '--max-problems=1000']
  const child = spawn(process.execPath, [program, ...args], {
    cwd: directory.path,
    env: { PATH: process.env.PATH, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [report, complaint] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (report === '') throw new Error(`the linter has no report: ${complaint}`)
  return report
}
