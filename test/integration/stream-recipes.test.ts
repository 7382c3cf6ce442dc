/**
 * Tests the programs of docs/use/streams-recipes.md, in each language installed here: from the first event, through a
 * cut connection and a killed process, to a refusal that ends them with an error.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { root } from '../support/house/repository.ts'
import { eventually } from '../support/http/api-client.ts'
import { startApi, TOKEN } from '../support/http/api-server.ts'
import { startCuttingProxy } from '../support/streams/cutting-proxy.ts'
import { compileJava, hasTool, runTool } from '../support/tools.ts'

const recipes = join(root, 'clients/streams')
const directory = temporaryDirectory()
afterAll(() => directory[Symbol.dispose]())

/** Bytes of one connection through the proxy. */
const LIFE_BYTES = 15_000

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

/** One process of a recipe. */
function start(command: readonly string[], url: string, cursorFile: string, token = TOKEN) {
  const [program = '', ...args] = command
  const end = new AbortController()
  const lines: string[] = []
  const ended = runTool(program, [...args, cursorFile], {
    env: { STREAM_URL: url, STREAM_TOKEN: token },
    signal: end.signal,
    onLine: (line) => lines.push(line),
  })
  return {
    /** Sequences of the events that it printed. */
    sequences: () => lines.map((line) => Number(/urn:newsml:example:(\d+)/.exec(line)?.[1])),
    ended,
    kill: () => {
      end.abort()
      return ended
    },
  }
}

/** Checks everything for one program; `scheme` is that of its URL. */
async function holds(name: string, command: readonly string[], scheme = 'http'): Promise<void> {
  const cursorFile = join(directory.path, `${name}.cursor`)
  await using api = await startApi({ count: 40 })
  await using proxy = await startCuttingProxy(Number(new URL(api.url).port))
  // Every connection breaks within some forty events, in the middle of one.
  proxy.cutAfter(LIFE_BYTES)
  const url = proxy.url.replace('http', scheme)
  const cursor = () => (existsSync(cursorFile) ? readFileSync(cursorFile, 'utf8') : '')
  const reaches = (sequence: number) =>
    eventually(cursor, (now) => now === api.store.reader.cursorAt(sequence), 60_000)
  const first = start(command, url, cursorFile)
  await reaches(40)
  api.store.grow(20)
  await reaches(60)
  await first.kill()
  expect(first.sequences()).toEqual(range(1, 60))
  api.store.grow(4)
  const second = start(command, url, cursorFile)
  await reaches(64)
  await second.kill()
  expect(second.sequences()).toEqual(range(61, 64))
  const refused = await start(command, url, cursorFile, 'no token of ours').ended
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(/token/)
}

describe('a recipe reads every event once, resumes after a cut and a kill, and exits when it is refused', () => {
  it.skipIf(!hasTool('curl', 'curl'))('bash with curl', async () => {
    await holds('bash', ['bash', join(recipes, 'bash/follow.sh')])
  })

  it.skipIf(!hasTool('python3', 'python3'))('Python', async () => {
    await holds('python', ['python3', join(recipes, 'python/follow.py')])
  })

  it.skipIf(!hasTool('javac', 'default-jdk-headless'))('Java', async () => {
    const classes = join(directory.path, 'java')
    const source = join(recipes, 'java/Follow.java')
    await compileJava([source], classes)
    await holds('java', ['java', '-cp', classes, 'Follow'], 'ws')
  })

  it('Node, with the client in TypeScript', async () => {
    await holds('node', [process.execPath, join(root, 'clients/typescript/example.ts')])
  })
})
