import { expect, test } from 'vitest'
import { filtersCommand } from '../../../src/cli/commands/filters.ts'
import { startApi, TOKEN } from '../../support/http/api-server.ts'
import { testContext } from '../command-context.ts'

async function run(url: string, args: string[]) {
  const { context, stdout, stderr } = testContext()
  const failure = await filtersCommand([...args, '--url', url, '--token', TOKEN], context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string; errors: { field: string }[] },
  )
  return { stdout, stderr, failure }
}

test('bridge filters test prints the newest events that match, and how many there are', async () => {
  await using api = await startApi({ count: 40 })
  const filter = ['--fca-categories', 'FR', '--last', '20', '--limit', '1']
  const { stdout, stderr, failure } = await run(api.url, ['test', ...filter])
  expect(failure).toBeNull()
  expect(stdout.map((line) => line.match(/Item \d+/)?.[0])).toEqual(['Item 40'])
  expect(stderr.at(-1)).toBe('the filter matches 2 of the last 20 disclosures, the newest 1 of them above')
  const json = await run(api.url, ['test', ...filter, '--json'])
  expect(JSON.parse(json.stdout.join())).toMatchObject({ tested: 20, matched: 2 })
  const wrong = await run(api.url, ['test', '--importance', 'hihg'])
  expect([wrong.failure?.code, wrong.failure?.errors[0]?.field]).toEqual(['usage', '--importance'])
})
