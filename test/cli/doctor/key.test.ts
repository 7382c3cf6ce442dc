import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkKey } from '../../../src/cli/doctor/key.ts'
import { plans } from '../../../src/core/plans.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { openSqliteLog } from '../../../src/log-embedded/log.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { UpstreamSettings } from '../../../src/settings/settings.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'

const { signal } = new AbortController()
let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: 'quiet', plan: 'ultimate' }, { clock: systemClock })
})

afterAll(() => sandbox.close())

/** The findings of one check as `level name: finding → todo`; the default upstream is the sandbox. */
async function check(
  dataDir: string,
  changes: { url?: string; weeklyQuota?: number; nativeWord?: string } = {},
) {
  const { url = sandbox.url, weeklyQuota = 5000, nativeWord = 'native' } = changes
  const upstream: UpstreamSettings = {
    url,
    key: sandbox.key,
    plan: { ...plans.ultimate, name: 'ultimate', weeklyQuota, quotaReset: 'rolling' },
  }
  const native = { word: nativeWord, kind: `${nativeWord.charAt(0).toUpperCase()}${nativeWord.slice(1)}` }
  const findings = await checkKey({ upstream, native, dataDir, clock: systemClock, signal })
  return findings.map(({ level, name, finding, todo }) => {
    const advice = todo === null ? '' : ` → ${todo}`
    return `${level} ${name}: ${finding}${advice}`
  })
}

test('an exhausted week is reported without a request, and spent units stay counted from check to check', async () => {
  using directory = temporaryDirectory()
  const before = sandbox.usage().requests
  expect(await check(directory.path, { weeklyQuota: 1 })).toEqual([
    expect.stringContaining('ok key: accepted, with pages of 200'),
    expect.stringMatching(/^ok items: \d+ announcements, all as specified$/),
    expect.stringContaining('warn quota: 0 of 1 requests left, 1 used'),
  ])
  expect(await check(directory.path, { weeklyQuota: 1 })).toEqual([
    expect.stringContaining('warn quota: 0 of 1'),
  ])
  expect(sandbox.usage().requests - before).toBe(1)
})

test('a unit is refunded if its request was never sent', async () => {
  using directory = temporaryDirectory()
  const gone = createServer()
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
  const { port } = gone.address() as AddressInfo
  await new Promise((resolve) => gone.close(resolve))
  expect(await check(directory.path, { url: `http://127.0.0.1:${port}/v2` })).toEqual([
    expect.stringContaining('fail key: the upstream cannot be reached: nothing listens there'),
    expect.stringContaining('ok quota: 5000 of 5000'),
  ])
})

test('nothing is sent if no unit can be counted: another process holds the directory', async () => {
  using directory = temporaryDirectory()
  const before = sandbox.usage().requests
  const held = openSqliteLog({ dataDir: directory.path, nativeKind: 'Native', clock: systemClock })
  const found = await check(directory.path)
  await held.log.close()
  expect(found).toEqual([
    expect.stringMatching(
      /^fail key: not tested, because the unit that it costs cannot be recorded: .* is in use by process/,
    ),
  ])
  expect(sandbox.usage().requests).toBe(before)
})

test.each([
  [{ kind: 'throttle-429' } as const, /^warn key: not tested: the upstream answers 429/],
  [{ kind: 'status', status: 503 } as const, /^warn key: not tested: status 503: \w+/],
  [{ kind: 'html-200' } as const, /^fail key: the response is not a page/],
])('an upstream that does %j is reported accurately, and its unit stays counted', async (fault, words) => {
  using directory = temporaryDirectory()
  sandbox.faults.add(fault)
  expect(await check(directory.path)).toEqual([
    expect.stringMatching(words),
    expect.stringContaining('4999 of 5000'),
  ])
})

test('an address without the API is a wrong BRIDGE_UPSTREAM_URL, not a wrong plan', async () => {
  using directory = temporaryDirectory()
  const [key] = await check(directory.path, { url: sandbox.url.replace(/\/v2$/, '/other') })
  expect(key).toMatch(/^fail key: the upstream has no announcements at this address: status 404/)
  expect(key).toMatch(/→ check BRIDGE_UPSTREAM_URL/)
})

test('a wrong word for the upstream’s own categories is found, with the words that occur', async () => {
  using directory = temporaryDirectory()
  expect(await check(directory.path, { nativeWord: 'house' })).toContainEqual(
    expect.stringMatching(/^warn items: no category has the kind "House", but there are "Native"/),
  )
})

test('announcements that differ from the specification are counted, with the first difference', async () => {
  using directory = temporaryDirectory()
  const odd = await startSandbox({ scenario: 'null-version', plan: 'ultimate' }, { clock: systemClock })
  try {
    odd.moveForward(120_000)
    const found = await check(directory.path, { url: odd.url })
    expect(found).toContainEqual(
      expect.stringMatching(/^ok items: 10 of 40 announcements differ from the specification \(version: /),
    )
  } finally {
    await odd.close()
  }
})
