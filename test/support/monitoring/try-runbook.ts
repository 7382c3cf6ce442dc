/** Follows the runbook of an alert while it fires: its queries and commands, as an operator would. */
import { runToEnd } from '../bridge-process.ts'
import { eventually } from '../http/api-client.ts'
import type { Installation } from './installation.ts'
import type { PrometheusProcess } from './prometheus-process.ts'
import type { Runbook } from './runbooks.ts'

/** The exit code of a command line that the program does not know. */
const USAGE = 2
const OVER_MS = 60_000

/** What came of it. */
export interface TriedRunbook {
  alert: string
  /** Exit code of each command that names no id; null where a signal ended it. */
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
  const port = new URL(node?.process().ready.http ?? '').port
  const env = { ...node?.env, BRIDGE_HTTP_PORT: port }
  const codes: Record<string, number | null> = {}
  for (const line of commands.filter((one) => /^bridge (?!.*\bID\b)/.test(one))) {
    const { code, stderr } = await runToEnd(line.split(' ').slice(1), env)
    codes[line] = code
    if (code === USAGE) wrong.push(`the runbook of ${alert} says ${line}: ${stderr}`)
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
): Promise<string[]> {
  return eventually(
    () => saysSomething(over, installation, prometheus),
    (says) => !says,
    OVER_MS,
  ).then(
    () => [],
    () => [`by its runbook ${alert} is not over, but it has ended`],
  )
}

/** Whether the answer has a line about this installation, or lines about nobody. */
async function saysSomething(
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
