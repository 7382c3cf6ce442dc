import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { getCommand } from '../../../src/cli/commands/get.ts'
import { testContext } from '../command-context.ts'

const EVENT = {
  specversion: '1.0',
  id: 'guid#2',
  type: 'disclosure.amended.v1',
  time: '2026-07-07T06:00:01Z',
  sequence: '00000000000000000934',
  data: { guid: 'guid', timestamp: '2026-07-07T06:00:01Z', headline: 'Final Results\u001b', issuer: {} },
  revisions: ['guid', 'guid#2'],
  replacedBy: null,
  foundBy: 'poll',
}

/** Runs the command against a server that has one event. */
async function run(...args: string[]) {
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url ?? '')
    const has = request.url === '/v1/disclosures/guid%232'
    response.writeHead(has ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(has ? EVENT : { code: 'not_found', detail: 'there is no such event' }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { context, stdout } = testContext()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const failure = await getCommand([...args, '--url', url, '--token', 'a token'], context).then(
    () => null,
    (error: unknown) => error as { code: string; hint: string },
  )
  return { stdout, failure, paths }
}

test('bridge get prints the line of the event, and how it was found', async () => {
  const { stdout, paths } = await run('guid#2')
  expect(paths).toEqual(['/v1/disclosures/guid%232'])
  expect(stdout[0]).toMatch(/^2026-07-07T07:00:01\+01:00 .*Final Results.*\(amended\)$/)
  expect(stdout).toContain('  foundBy        poll')
  expect(stdout).toContain('  revisions      ["guid","guid#2"]')
  expect(stdout).toContain('  replacedBy     –')
  expect(stdout.join('')).not.toContain('\u001b')
})

test('bridge get prints the response with --json, and says what an unknown id means', async () => {
  expect(JSON.parse((await run('guid#2', '--json')).stdout.join())).toEqual(EVENT)
  const { failure } = await run('other')
  expect(failure).toMatchObject({ code: 'failed', hint: expect.stringContaining('sequence') })
})
