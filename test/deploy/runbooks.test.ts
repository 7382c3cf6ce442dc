/** Compares the runbooks with the program: commands, flags, paths and log events that they name are real. */
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { commands } from '../../src/cli/command-table.ts'
import { opsPaths } from '../../src/http/ops.ts'
import { logEvents } from '../../src/obs/log-events.ts'
import { testContext } from '../cli/command-context.ts'
import { textFiles } from '../support/house/repository.ts'
import { readRunbooks } from '../support/monitoring/runbooks.ts'
import { shippedRules } from '../support/monitoring/shipped.ts'

const runbooks = readRunbooks()
/** What is on a machine besides the bridge. */
const TOOLS = /^(df|du|timedatectl|dmesg|systemctl list-timers)\b/

test('each command of the bridge in a runbook exists, with its verb and flags', async () => {
  const named = runbooks.flatMap(({ commands: lines, text }) => [
    ...lines.filter((line) => line.startsWith('bridge ')),
    ...[...text.matchAll(/`(bridge [^`]+)`/g)].map(([, line = '']) => line),
  ])
  expect(named.length).toBeGreaterThan(30)
  for (const line of new Set(named)) expect(await faultOf(line), line).toBeNull()
})

test('a command that is wrong is found', async () => {
  expect(await faultOf('bridge webhooks attemts ID')).not.toBeNull()
  expect(await faultOf('bridge doctor --no-spending')).toBe('no flag --no-spending')
  expect(await faultOf('bridge docter')).not.toBeNull()
})

test('each other command reads a path of the ops listener, the journal of the shipped service, or the machine', () => {
  const units = textFiles().flatMap(({ path }) => /^deploy\/systemd\/(.+)\.service$/.exec(path)?.[1] ?? [])
  for (const { alert, commands: lines } of runbooks) {
    for (const line of lines.filter((one) => !one.startsWith('bridge ') && !TOOLS.test(one))) {
      const [, path] = /^curl -s localhost:9464(\/\w+)$/.exec(line) ?? []
      const [, unit] = /^journalctl -u (\S+) -n \d+$/.exec(line) ?? []
      const isReal = path === undefined ? units.includes(unit ?? '') : Object.hasOwn(opsPaths, path)
      expect(isReal, `${alert}: ${line}`).toBe(true)
    }
  }
})

test('each query that says that it is over compares with the numbers of its alert, and with no other', () => {
  const { groups } = parse(shippedRules()) as { groups: { rules: { alert?: string; expr: string }[] }[] }
  const numbersIn = (query: string): string[] => query.match(/(?<![\w.])\d[\d.]*\b/g) ?? []
  for (const { alert, over } of runbooks) {
    const rule = groups.flatMap(({ rules }) => rules).find((one) => one.alert === alert)
    const known = numbersIn(rule?.expr ?? '')
    const strange = numbersIn(over).filter((number) => !known.includes(number))
    expect(strange, `${alert}: ${over}`).toEqual([])
  }
})

test('each query that says that it is over says of whom, where one Prometheus watches several installations', () => {
  const ofAll = runbooks.filter(({ over }) => /\b(?:sum|max|min|avg)\s*\(/.test(over))
  expect(ofAll.map(({ alert, over }) => `${alert}: ${over}`)).toEqual([])
})

test('each log event that a runbook names is one of the program', () => {
  const named = runbooks.flatMap(({ text }) =>
    [...text.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, name = '']) => name),
  )
  const files = /\.(db|json|md|ts)$/
  const unknown = named.filter((name) => !files.test(name) && !Object.hasOwn(logEvents, name))
  expect(named.length).toBeGreaterThan(8)
  expect(unknown).toEqual([])
})

/** What is wrong with a line of the command line, by its own help; null: nothing. */
async function faultOf(line: string): Promise<string | null> {
  const [, name = '', ...args] = line.split(' ')
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) return `no command ${name}`
  const verbs = args.filter((arg) => /^[a-z][a-z-]+$/.test(arg))
  const { context, stdout } = testContext()
  try {
    await (await command.load())([...verbs, '--help'], context)
  } catch (error) {
    return String(error)
  }
  const help = stdout.join('\n')
  if (verbs.length > 0 && !help.startsWith(`bridge ${name} ${verbs.join(' ')}`))
    return `no verb ${verbs.join(' ')}`
  const flag = args.find((arg) => arg.startsWith('--') && !help.includes(`  ${arg} `))
  return flag === undefined ? null : `no flag ${flag}`
}
