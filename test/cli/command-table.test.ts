import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { commands } from '../../src/cli/command-table.ts'
import type { CliCommand } from '../../src/cli/terminal/command.ts'
import { testContext } from './command-context.ts'

/** Every command and verb, with the words that call it. */
async function everyCommand(): Promise<[string, CliCommand][]> {
  const loaded = Object.entries(commands).map(async ([name, { load }]) => [name, await load()] as const)
  return (await Promise.all(loaded)).flatMap(([name, command]): [string, CliCommand][] => [
    [name, command],
    ...Object.entries(command.verbs).map(([verb, its]): [string, CliCommand] => [`${name} ${verb}`, its]),
  ])
}

async function helpOf(command: CliCommand): Promise<string> {
  const { context, stdout } = testContext()
  await command(['--help'], context)
  return stdout.join('\n')
}

test('every command and every verb explains itself, and each of its flags', async () => {
  const found = await everyCommand()
  expect(found.length).toBeGreaterThan(30)
  for (const [words, command] of found) {
    const help = await helpOf(command)
    expect(help.split('\n')[0], words).toMatch(new RegExp(`^bridge ${words}: \\S`))
    const flags = command.flags.filter((flag) => flag === flag.toLowerCase())
    for (const flag of flags) expect(help, `${words} --${flag}`).toContain(`--${flag}`)
    for (const verb of Object.keys(command.verbs)) expect(help).toContain(`  bridge ${words} ${verb}`)
    expect(
      help.split('\n').filter((line) => line.length > 120),
      words,
    ).toEqual([])
  }
})

test('the page on the command line names every command and verb', async () => {
  const page = readFileSync('docs/use/command-line.md', 'utf8')
  for (const [words, command] of await everyCommand()) {
    if (!words.includes(' ')) expect(page).toContain(`\`bridge ${words}`)
    const row = page.split('\n').find((line) => line.startsWith(`| \`bridge ${words}`)) ?? ''
    for (const verb of Object.keys(command.verbs)) expect(row, words).toMatch(new RegExp(`\\b${verb}\\b`))
  }
})

test('every command that talks to a running bridge has --json, --url and --token', async () => {
  for (const [words, { flags }] of await everyCommand()) {
    if (!flags.includes('url') || words.startsWith('sandbox')) continue
    expect(flags, words).toEqual(expect.arrayContaining(['json', 'token']))
  }
})
