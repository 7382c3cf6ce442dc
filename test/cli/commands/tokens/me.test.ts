import { expect, test } from 'vitest'
import { meCommand } from '../../../../src/cli/commands/tokens/me.ts'
import { startApi, TOKEN } from '../../../support/http/api-server.ts'
import { testContext } from '../../command-context.ts'

/** Runs the command with that token against that address. */
async function run(url: string, token: string, ...args: string[]) {
  const { context, stdout } = testContext()
  const failure = await meCommand([...args, '--url', url, '--token', token], context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string },
  )
  return { stdout, failure }
}

test('bridge me prints whose token it is, its scopes and its end', async () => {
  await using api = await startApi()
  const made = await api.tokens.create({
    tenant: 'desk',
    scopes: ['events:read', 'webhooks:read'],
    name: 'dash\u009bboards',
    expiresAtMs: Date.parse('2027-01-31T12:00:00Z'),
  })
  if (typeof made === 'string') throw new Error(made)
  const { text, token } = made
  expect(await run(api.url, text)).toEqual({
    failure: null,
    stdout: [
      'tenant   desk',
      `token    ${token.id}`,
      'name     dash\ufffdboards',
      'scopes   events:read,webhooks:read',
      'expires  2027-01-31T12:00:00.000Z',
    ],
  })
  const json = JSON.parse((await run(api.url, text, '--json')).stdout.join())
  expect(json).toMatchObject({ tenant: 'desk', tokenId: token.id, expiresAt: '2027-01-31T12:00:00.000Z' })
})

test('bridge me names the operator’s token, which never ends, and refuses one that is not valid', async () => {
  await using api = await startApi()
  const { stdout } = await run(api.url, TOKEN)
  expect(stdout).toEqual(expect.arrayContaining(['token    settings', 'name     –', 'expires  never']))
  const { failure } = await run(api.url, 'another token')
  expect(failure).toMatchObject({ code: 'usage', message: expect.stringMatching(/not valid/) })
})
