import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { confirm } from '../../../src/cli/terminal/confirm.ts'

const { signal } = new AbortController()

/** A terminal on which a person types that line. */
function terminal(answer: string, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY })
  const output = Object.assign(new PassThrough(), { isTTY })
  input.write(`${answer}\n`)
  return { input, output }
}

test('only yes is consent', async () => {
  await confirm('Repair?', terminal('yes'), signal)
  for (const answer of ['', 'y', 'no', 'yes please']) {
    await expect(confirm('Repair?', terminal(answer), signal)).rejects.toMatchObject({
      code: 'failed',
      message: 'nothing was changed',
    })
  }
})

test('the question is shown', async () => {
  const shown = terminal('yes')
  await confirm('Repair?', shown, signal)
  expect(String(shown.output.read())).toContain('Repair? Type yes to go on: ')
})

test('without a terminal nobody is asked, and the error names the flag', async () => {
  await expect(confirm('Repair?', terminal('yes', false), signal)).rejects.toMatchObject({
    code: 'usage',
    hint: expect.stringContaining('--yes'),
  })
})
