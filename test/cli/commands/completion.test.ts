import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commands } from '../../../src/cli/command-table.ts'
import { hasTool } from '../../support/tools.ts'
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
      ['resume', 'replay', 'replays', 'rewrap'],
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

describe.skipIf(!hasTool('zsh', 'zsh'))('bridge completion zsh, in zsh', () => {
  const home = mkdtempSync(join(tmpdir(), 'bridge-zsh-'))
  const script = join(home, 'completion')
  beforeAll(async () => writeFileSync(script, await scriptFor('zsh')))
  afterAll(() => rmSync(home, { recursive: true }))

  /**
   * What these lines are after the completion key, in an interactive zsh in an empty terminal that was set up so. The
   * key `^T` completes and prints the line between marks, so that the driver waits for text, never for time.
   */
  function completed(setUp: string, lines: readonly string[]): string[] {
    const driver = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell ${quoted(`${setUp}; probe() { zle expand-or-complete; print -r -- "<<$BUFFER>>"; BUFFER=; }; zle -N probe; bindkey "^T" probe; print rea''dy`)}
zpty -r shell seen '*ready*'
for line in ${lines.map(quoted).join(' ')}; do
  zpty -w -n shell "$line"$'\\x14'
  zpty -r shell seen '*<<*>>*'
  print -r -- "\${\${seen##*<<}%%>>*}"
  if [[ $seen == *'not found'* ]]; then print -r -- "$seen" >&2; fi
done
zpty -d shell`
    const env = { PATH: process.env.PATH, HOME: home, ZDOTDIR: home, TERM: 'dumb', COLUMNS: '999' }
    const options = { encoding: 'utf8', env, cwd: home, timeout: 30_000 } as const
    const { stdout, stderr, status } = spawnSync('zsh', ['-f', '-c', driver], options)
    expect([stderr, status]).toEqual(['', 0])
    return stdout.split('\n').slice(0, -1)
  }

  test('completes commands, verbs, flags and files, whatever files are there', () => {
    for (const name of ['package.json', 'tailored', 'backup.db']) writeFileSync(join(home, name), '')
    const lines: readonly [typed: string, completed: string][] = [
      ['bridge ta', 'bridge tail '],
      ['bridge webhooks pa', 'bridge webhooks pause '],
      ['bridge webhooks replay ep_1 --dr', 'bridge webhooks replay ep_1 --dry-run '],
      ['bridge help webh', 'bridge help webhooks '],
      ['bridge tail --tail 5 --fca', 'bridge tail --tail 5 --fca-categories '],
      ['bridge backup back', 'bridge backup backup.db '],
      ['bridge tail --token-file tai', 'bridge tail --token-file tailored '],
    ]
    const typed = lines.map(([line]) => line)
    expect(completed(`autoload -Uz compinit; compinit -i; source ${script}`, typed)).toEqual(
      lines.map(([, line]) => line),
    )
  })

  test.each([
    ['the function of the page on the command line', 'bridge() { false "$@"; }; source'],
    ['a .zshrc that has not started the completion of zsh', 'source'],
  ])('works with %s', (_name, setUp) => {
    expect(completed(`${setUp} ${script}`, ['bridge webhooks pa'])).toEqual(['bridge webhooks pause '])
  })
})

/** The text as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
