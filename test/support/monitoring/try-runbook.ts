/** Follows the runbook of an alert while it fires: its queries and commands, as an operator would. */
import { eventually } from '../http/api-client.ts'
import { runTool } from '../tools.ts'
import { type Installation, runBeside } from './installation.ts'
import type { PrometheusProcess } from './prometheus-process.ts'
import type { Runbook } from './runbooks.ts'

/** The exit code of a command line that the program does not know. */
const USAGE = 2
const OVER_MS = 60_000
/** As a command before lists it. */
const AN_ID = /\bep_\w+/

/** What came of it. */
export interface TriedRunbook {
  alert: string
  /** Exit code of each command of the bridge and of each `curl`; null where a signal ended it. */
  commands: Record<string, number | null>
  /** What did not help, as sentences. */
  wrong: string[]
}

/** While the alert fires, each query has to say something of the installation, and each command has to be one. */
export async function tryRunbook(
  { alert, commands, look, over }: Runbook,
  installation: Installation,
  prometheus: PrometheusProcess,
): Promise<TriedRunbook> {
  const wrong: string[] = []
  for (const query of [...look, over])
    if (!(await saysSomething(query, installation, prometheus)))
      wrong.push(`the runbook of ${alert} asks for ${query}, which says nothing of it`)
  const node = installation.nodes.at(-1)
  if (node === undefined) throw new Error('the installation has no process')
  const codes: Record<string, number | null> = {}
  let listed = ''
  for (const line of commands) {
    if (line.startsWith('bridge ')) {
      const [id = 'ID'] = AN_ID.exec(listed) ?? []
      const { code, stdout, stderr } = await runBeside(node, line.replace(/\bID\b/, id))
      codes[line] = code
      listed += stdout
      if (code === USAGE) wrong.push(`the runbook of ${alert} says ${line}: ${stderr}`)
    } else if (line.startsWith('curl ')) {
      const [, ...args] = line.replace('localhost:9464', node.target).split(' ')
      codes[line] = (await runTool('curl', args)).code
    }
  }
  return { alert, commands: codes, wrong }
}

/**
 * What is wrong with the query that should say that it is over. An alert ends with the first evaluation that finds nothing, such
 * as while its process starts again; the state it is about may end a little later.
 */
export async function tryOver(
  { alert, over }: Runbook,
  installation: Installation,
  prometheus: PrometheusProcess,
  withinMs = OVER_MS,
): Promise<string[]> {
  return eventually(
    () => saysSomething(over, installation, prometheus),
    (says) => !says,
    withinMs,
  ).then(
    () => [],
    () => [`by its runbook ${alert} is not over, but it has ended`],
  )
}

/** Whether the answer has a line about this installation, or lines about nobody. */
export async function saysSomething(
  query: string,
  { name, nodes }: Installation,
  prometheus: PrometheusProcess,
): Promise<boolean> {
  const samples = await prometheus.query(query)
  const targets = nodes.map(({ target }) => target)
  return samples.some(({ metric: { installation, instance } }) =>
    installation === undefined && instance === undefined
      ? true
      : installation === name || targets.includes(instance ?? ''),
  )
}
