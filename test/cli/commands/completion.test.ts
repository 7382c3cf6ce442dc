import { spawnSync } from 'node:child_process'
import { beforeAll, describe, expect, test } from 'vitest'
import { commands } from '../../../src/cli/command-table.ts'
import { testContext } from '../command-context.ts'

async function scriptFor(shell: string): Promise<string> {
  const { context, stdout } = testContext()
  await (await commands.completion?.load())?.([shell], context)
  return stdout.join('\n')
}

describe('bridge completion bash, in bash', () => {
  let script = ''
  beforeAll(async () => {
    script = await scriptFor('bash')
  })

  /** What bash offers for the last of these words. */
  function offered(...words: string[]): string[] {
    const line = words.map((word) => `'${word}'`).join(' ')
    const lines = [
      script,
      `COMP_WORDS=(bridge ${line})`,
      `COMP_CWORD=${words.length}`,
      '_bridge',
      `printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]
    const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-u', '-c', lines.join('\n')], {
      encoding: 'utf8',
    })
    expect([stderr, status]).toEqual(['', 0])
    return stdout.split('\n').filter((word) => word !== '')
  }

  test.each<[string[], string[]]>([
    [['ta'], ['tail']],
    [['webhooks', 'p'], ['pause']],
    [
      ['webhooks', 're'],
      ['resume', 'replay', 'rewrap'],
    ],
    [['webhooks', 'replay', 'ep_1', '--dr'], ['--dry-run']],
    [['help', 'webh'], ['webhooks']],
    [['tail', '--tail', '5', '--fca'], ['--fca-categories']],
    [
      ['completion', ''],
      ['bash', 'zsh', '--help'],
    ],
    [['nonsense', 'do'], ['doctor']],
  ])('offers for %j', (words, expected) => {
    expect(offered(...words)).toEqual(expected)
  })

  test('offers every command for nothing, and every flag of a command', () => {
    expect(offered('')).toEqual([...Object.keys(commands), 'help'])
    expect(offered('tail', '--')).toEqual(expect.arrayContaining(['--json', '--since', '--url', '--help']))
  })
})

test('bridge completion zsh names every command and flag', async () => {
  const script = await scriptFor('zsh')
  expect(script.split('\n')[0]).toBe('#compdef bridge')
  for (const word of [...Object.keys(commands), '--dry-run', '--forward']) expect(script).toContain(word)
})
