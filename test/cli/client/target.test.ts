import { describe, expect, test } from 'vitest'
import { networkWords } from '../../../src/cli/client/network-words.ts'
import { targetOf } from '../../../src/cli/client/target.ts'

const TOKEN = 'a-token-of-the-tests'

function noFile(path: string): never {
  throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' })
}

const files = (texts: Record<string, string>) => (path: string) => texts[path] ?? noFile(path)

describe('the target bridge of a command', () => {
  test.each([
    [{ BRIDGE_ADMIN_TOKEN: TOKEN }, 'http://127.0.0.1:8080'],
    [
      { BRIDGE_ADMIN_TOKEN: TOKEN, BRIDGE_HTTP_HOST: '0.0.0.0', BRIDGE_HTTP_PORT: '9000' },
      'http://127.0.0.1:9000',
    ],
    [{ BRIDGE_ADMIN_TOKEN: TOKEN, BRIDGE_HTTP_HOST: '::' }, 'http://[::1]:8080'],
    [{ BRIDGE_ADMIN_TOKEN: TOKEN, BRIDGE_UPSTREAM_PLAN: 'golden' }, 'http://127.0.0.1:8080'],
  ])('follows from its settings: %j', (env, url) => {
    expect(targetOf({}, env, noFile)).toEqual({ url, token: TOKEN, tokenIsFlag: false })
  })

  test('reads its token from a file, a .env file or a flag; flags win', () => {
    const readFile = files({ secret: TOKEN, '.env': 'BRIDGE_HTTP_PORT=9001' })
    expect(targetOf({}, { BRIDGE_ADMIN_TOKEN_FILE: 'secret' }, readFile)).toMatchObject({
      url: 'http://127.0.0.1:9001',
      token: TOKEN,
    })
    const flags = { url: 'https://desk.example/bridge/', token: 't' }
    expect(targetOf(flags, { BRIDGE_HTTP_PORT: 'x' }, noFile)).toEqual({
      url: 'https://desk.example/bridge',
      token: 't',
      tokenIsFlag: true,
    })
  })

  test("takes a reader's token from a file of a flag, or from BRIDGE_TOKEN, which wins over the admin token", () => {
    const readFile = files({ reader: `${TOKEN}\n`, empty: ' \n' })
    const env = { BRIDGE_ADMIN_TOKEN: 'the-admin-token-of-16', BRIDGE_TOKEN: 'from-the-environment' }
    expect(targetOf({ 'token-file': 'reader' }, env, readFile)).toMatchObject({
      token: TOKEN,
      tokenIsFlag: true,
    })
    expect(targetOf({}, env, readFile).token).toBe('from-the-environment')
    expect(targetOf({}, { BRIDGE_TOKEN_FILE: 'reader' }, readFile)).toMatchObject({
      url: 'http://127.0.0.1:8080',
      token: TOKEN,
    })
    const wrong = [
      { 'token-file': 'none' },
      { 'token-file': 'empty' },
      { 'token-file': 'reader', token: TOKEN },
    ]
    for (const flags of wrong)
      expect(() => targetOf(flags, env, readFile)).toThrow(expect.objectContaining({ code: 'usage' }))
    expect(() =>
      targetOf({}, { ...env, BRIDGE_TOKEN: undefined, BRIDGE_TOKEN_FILE: 'none' }, readFile),
    ).toThrow(expect.objectContaining({ errors: [expect.objectContaining({ field: 'BRIDGE_TOKEN_FILE' })] }))
  })

  test('takes both from a profile, which is read in place of the environment', () => {
    const profile = 'BRIDGE_URL=https://bridge.example/\nBRIDGE_TOKEN=of-the-profile\n'
    const readFile = files({ 'desk.env': profile, '.env': 'BRIDGE_TOKEN=of-the-directory' })
    const env = { BRIDGE_TOKEN: 'of-the-environment' }
    expect(targetOf({ profile: 'desk.env' }, env, readFile)).toMatchObject({
      url: 'https://bridge.example',
      token: 'of-the-profile',
    })
    expect(targetOf({ profile: 'desk.env', token: TOKEN }, env, readFile)).toMatchObject({ token: TOKEN })
    expect(() => targetOf({ profile: 'none' }, env, readFile)).toThrow(
      expect.objectContaining({ code: 'usage' }),
    )
    expect(() => targetOf({}, { ...env, BRIDGE_URL: 'bridge.example' }, readFile)).toThrow(
      /^BRIDGE_URL must be/,
    )
  })

  test('is not guessed: missing or wrong settings are named', () => {
    expect(() => targetOf({}, { BRIDGE_ADMIN_TOKN: TOKEN }, noFile)).toThrow(
      expect.objectContaining({
        code: 'settings',
        errors: expect.arrayContaining([
          {
            field: 'BRIDGE_ADMIN_TOKN',
            message: expect.stringContaining('did you mean "BRIDGE_ADMIN_TOKEN"?'),
          },
        ]),
        hint: expect.stringContaining('--token'),
      }),
    )
    expect(() => targetOf({ token: TOKEN }, { BRIDGE_HTTP_PORT: '80x' }, noFile)).toThrow(
      expect.objectContaining({
        code: 'settings',
        errors: [expect.objectContaining({ field: 'BRIDGE_HTTP_PORT' })],
      }),
    )
    expect(() => targetOf({ token: TOKEN }, { BRIDGE_HTTP_PORT: '0' }, noFile)).toThrow(
      expect.objectContaining({ code: 'usage', hint: expect.stringContaining('printed when it started') }),
    )
  })

  test.each(['ftp://x', 'localhost:8080', 'http://a:b@x', 'http://x/?q=1', ''])(
    'refuses the address "%s"',
    (url) => {
      expect(() => targetOf({ url, token: TOKEN }, {}, noFile)).toThrow(
        expect.objectContaining({ code: 'usage' }),
      )
    },
  )
})

test.each([
  ['ECONNREFUSED', 'nothing listens'],
  ['ENOTFOUND', 'host name'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate'],
  ['CERT_HAS_EXPIRED', 'certificate'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'TLS'],
  ['HPE_INVALID_CONSTANT', 'not HTTP'],
  ['UND_ERR_CONNECT_TIMEOUT', 'in time'],
  ['ESOMETHING', 'ESOMETHING'],
])('the error for the network fault %s is readable and names a remedy', (code, words) => {
  const { what, todo } = networkWords(code)
  expect(what).toContain(words)
  expect(todo.length).toBeGreaterThan(10)
})
