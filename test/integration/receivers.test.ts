/**
 * Tests the verification code of docs/use/webhooks-receivers.md, in each language installed here: against the
 * committed vectors, random messages of the official library, and forged messages.
 */
import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it, test } from 'vitest'
import { isGenuine } from '../../clients/receivers/node/verify.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { root } from '../support/house/repository.ts'
import {
  lineOf,
  messageCases,
  officialVerdict,
  type RandomMessage,
  type ReceiverCase,
  shellLineOf,
  strangeCases,
  type Verdict,
  vectorCases,
} from '../support/receivers/cases.ts'
import { compileJava, hasTool, runTool } from '../support/tools.ts'

/** Go builds its own library first on a machine that never has: 66 s were seen beside other work. */
const GO_BUILD_MS = 300_000
const receivers = join(root, 'clients/receivers')
const drivers = join(root, 'test/support/receivers')
const directory = temporaryDirectory()
afterAll(() => directory[Symbol.dispose]())

const bytes = fc.uint8Array({ minLength: 24, maxLength: 64 })
const text = fc.string({ unit: 'grapheme', maxLength: 300 })
const messages: RandomMessage[] = fc.sample(fc.record({ key: bytes, otherKey: bytes, text }), {
  numRuns: 8,
  seed: 7,
})
const [first] = messages
const nowSeconds = Math.floor(Date.now() / 1000)
const batch = { key: Buffer.alloc(32, 3), otherKey: Buffer.alloc(32, 4), text: '[{"id":"a"},{"id":"b"}]' }
const random = [batch, ...messages].flatMap((message) => messageCases(message, nowSeconds))
const strange = first === undefined ? [] : strangeCases(first, nowSeconds)
const cases = [...vectorCases(), ...random, ...strange]
/** bash starts a dozen processes per case. */
const fewCases = [...vectorCases(), ...random.slice(0, 12), ...strange]

/** The cases with the verdict that each got, as a list that is readable in a failure. */
function listed(asked: readonly ReceiverCase[], verdicts: readonly (string | undefined)[]): string[] {
  return asked.map(({ name }, at) => `${name}: ${verdicts[at]}`)
}

/** The cases with the expected verdicts. */
function expected(asked: readonly ReceiverCase[]): string[] {
  return listed(
    asked,
    asked.map(({ verdict }) => verdict),
  )
}

/** Sends a driver the cases, a line each; resolves with its verdicts. */
async function ask(asked: readonly ReceiverCase[], command: string, ...args: string[]): Promise<string[]> {
  const line = command === 'bash' ? shellLineOf : lineOf
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const output: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  child.stdin.end(`${asked.map(line).join('\n')}\n`)
  await ended
  return listed(asked, Buffer.concat(output).toString().trim().split('\n'))
}

test('the official library agrees with the expected verdicts on random messages', () => {
  // Its clock is the real one: a timestamp at the edge of the tolerance may have expired meanwhile.
  const edges = ['as old as may be', 'as far ahead as may be', 'too far ahead']
  const steady = random.filter(({ name }) => !edges.includes(name))
  expect(steady.length).toBeGreaterThan(50)
  for (const own of steady) expect([own.name, officialVerdict(own)]).toEqual([own.name, own.verdict])
})

describe('each example receiver accepts genuine messages, and nothing else', () => {
  it('in TypeScript', () => {
    const verdictOf = ({ secret, body, ...own }: ReceiverCase): Verdict => {
      try {
        return isGenuine(secret, own, body, own.nowSeconds) ? 'genuine' : 'refused'
      } catch {
        return 'no secret'
      }
    }
    expect(listed(cases, cases.map(verdictOf))).toEqual(expected(cases))
  })

  it.skipIf(!hasTool('python3', 'python3'))('in Python', async () => {
    const verdicts = await ask(cases, 'python3', join(drivers, 'driver.py'), join(receivers, 'python'))
    expect(verdicts).toEqual(expected(cases))
  })

  it.skipIf(!hasTool('go', 'golang-go'))(
    'in Go',
    async () => {
      const module = join(directory.path, 'go')
      mkdirSync(join(module, 'driver'), { recursive: true })
      writeFileSync(join(module, 'go.mod'), 'module example.test/receiver\n\ngo 1.19\n')
      copyFileSync(join(receivers, 'go/verify.go'), join(module, 'verify.go'))
      copyFileSync(join(drivers, 'driver.go'), join(module, 'driver/main.go'))
      const env = {
        HOME: process.env.HOME ?? directory.path,
        GOFLAGS: '-mod=mod',
        GOPROXY: 'off',
        GOTOOLCHAIN: 'local',
      }
      const binary = join(directory.path, 'driver')
      const built = await runTool('go', ['build', '-o', binary, './driver'], { env, cwd: module })
      expect(built).toMatchObject({ code: 0, stderr: '' })
      expect(await ask(cases, binary)).toEqual(expected(cases))
    },
    GO_BUILD_MS,
  )

  it.skipIf(!hasTool('javac', 'default-jdk-headless'))('in Java', async () => {
    const classes = join(directory.path, 'java')
    const sources = [join(receivers, 'java/Webhooks.java'), join(drivers, 'Driver.java')]
    await compileJava(sources, classes)
    expect(await ask(cases, 'java', '-cp', classes, 'Driver')).toEqual(expected(cases))
  })

  it.skipIf(!hasTool('openssl', 'openssl'))('in bash with openssl', async () => {
    const verdicts = await ask(fewCases, 'bash', join(drivers, 'driver.sh'), join(receivers, 'bash'))
    expect(verdicts).toEqual(expected(fewCases))
  })
})

test.skipIf(!hasTool('openssl', 'openssl'))('verify.sh prints its verdict as a command', async () => {
  const [vector] = cases
  if (vector === undefined) throw new Error('there are no vectors')
  const command = join(receivers, 'bash/verify.sh')
  const args = [vector.id, vector.timestamp, vector.signature]
  const run = await runTool('bash', [command, ...args], { env: { WEBHOOK_SECRET: vector.secret } })
  // The server uses the current time, the vector is from 1970.
  expect(run).toEqual({ code: 1, stdout: 'refused\n', stderr: '' })
  expect(await runTool('bash', [command])).toEqual({
    code: 2,
    stdout: 'refused\n',
    stderr: 'the webhook secret is missing or cut\n',
  })
})
