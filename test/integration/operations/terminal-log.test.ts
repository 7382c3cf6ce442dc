import { describe, expect, it } from 'vitest'
import { bridgeEnv, runToEnd, startCommand, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { hasTool } from '../../support/tools.ts'

const NO_UPSTREAM = { url: 'http://127.0.0.1:9/v2', key: 'none' }
/** Gives the command that follows a terminal of its own. */
const ON_TERMINAL = ['python3', '-c', 'import pty,sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)']

/** All that `bridge run` shows on a terminal until it has started; its end is that of the terminal. */
async function shownOnTerminal(extra: Record<string, string>): Promise<string> {
  using directory = temporaryDirectory()
  const env = bridgeEnv(NO_UPSTREAM, directory.path, { TERM: 'xterm', BRIDGE_ROLES: 'api,feed', ...extra })
  const command = startCommand(['run'], env, undefined, ON_TERMINAL)
  try {
    return await eventually(
      command.stdout,
      (text) => /"ready":true/.test(text) && text.includes('process.ready'),
    )
  } finally {
    await command.stop('SIGKILL')
  }
}

describe.skipIf(!hasTool('python3', 'python3'))('the log on a terminal', () => {
  it('is text with colours, beside the ready line', async () => {
    const text = await shownOnTerminal({})
    expect(text).toMatch(/\d\d:\d\d:\d\d\.\d{3}\S* \S*INFO \S* \S*process\.ready/)
    expect(text).toContain('\u001b[32mINFO ')
    expect(text).not.toContain('"event":')
  })

  it('has no colours where NO_COLOR is set', async () => {
    const text = await shownOnTerminal({ NO_COLOR: '1' })
    expect(text).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}process\.ready/m)
    expect(text).not.toContain('\u001b')
  })

  it('is JSON where the setting says so', async () => {
    expect(await shownOnTerminal({ BRIDGE_LOG_FORMAT: 'json' })).toContain('"event":"process.ready"')
  })
})

it.each([
  ['auto', /^\{"level":"info","time":"[^"]*","event":"settings\.read"/m],
  ['text', /^\d\d:\d\d:\d\d\.\d{3} INFO {2}settings\.read /m],
])('the log that is no terminal is, with the format %s, like %s', async (format, line) => {
  using directory = temporaryDirectory()
  const env = bridgeEnv(NO_UPSTREAM, directory.path, {
    BRIDGE_LOG_FORMAT: format,
    BRIDGE_HTTP_HOST: '192.0.2.1',
  })
  const { stderr, code } = await runToEnd(['run'], env)
  expect(code).not.toBe(0)
  expect(stderr).toMatch(line)
  expect(stderr).not.toContain('\u001b')
})
