import { expect, test } from 'vitest'
import { planCommand } from '../../../src/cli/commands/plan.ts'
import { planNames } from '../../../src/core/plans.ts'
import { testContext } from '../command-context.ts'

async function run(args: string[], env: Record<string, string> = {}): Promise<string[]> {
  const { context, stdout } = testContext(env)
  await planCommand(args, context)
  return stdout.join('\n').split('\n')
}

/** Planning all plans takes 20 s of processor time. */
let compared: Promise<string[]> | undefined
function comparedLite(): Promise<string[]> {
  compared ??= run(['--plan', 'lite', '--compare'])
  return compared
}

test('the plan needs neither address nor key, and never uses more units than the weekly quota', async () => {
  const [line = ''] = await run(['--json'], { BRIDGE_UPSTREAM_PLAN: 'free' })
  const plan = JSON.parse(line)
  expect(plan).toMatchObject({ plan: 'free', weeklyQuota: 350 })
  expect(plan.polls + plan.kept + plan.left).toBeLessThanOrEqual(350)
  expect(plan.polls).toBeGreaterThan(200)
  expect(plan.kept).toBe(plan.fills)
  expect(plan.hours.filter(({ isOpen }: { isOpen: boolean }) => isOpen)).toHaveLength(24)
})

test('the text output has a row per hour, and comparisons with the same number of other polls', async () => {
  const lines = await comparedLite()
  expect(lines[0]).toContain('plan lite: 1500 units a week, pages of 50')
  expect(lines.filter((line) => /^ {2}\d\d:00 /.test(line))).toHaveLength(24)
  const share = (name: string): number => {
    const line = lines.find((candidate) => candidate.includes(name)) ?? ''
    if (line.includes('the plan is equally fast')) return 1
    const [, percent, than] = /the plan is (\d+) % (faster|slower)/.exec(line) ?? []
    return 1 + (Number(percent) / 100) * (than === 'faster' ? -1 : 1)
  }
  expect(share('evenly spaced polls')).toBeLessThan(0.5)
  expect(share('in the release hours')).toBeLessThan(0.9)
})

test('a quota too small to fill overflows is reported', async () => {
  const small = { BRIDGE_UPSTREAM_PLAN: 'free', BRIDGE_UPSTREAM_WEEKLY_QUOTA: '50' }
  expect((await run([], small)).join('\n')).toMatch(
    /filling overflows would cost \d+ units, and at most 25 may be spent: .* gaps/,
  )
  expect((await run([], { BRIDGE_UPSTREAM_PLAN: 'free' })).join('\n')).not.toContain('gaps')
})

test('a wrong figure of the plan is refused with its name, other settings do not matter', async () => {
  const wrong = run([], { BRIDGE_UPSTREAM_WEEKLY_QUOTA: 'many' })
  await expect(wrong).rejects.toMatchObject({
    code: 'settings',
    errors: [{ field: 'BRIDGE_UPSTREAM_WEEKLY_QUOTA' }],
  })
  const other = await run(['--json'], { BRIDGE_UPSTREAM_PLAN: 'free', BRIDGE_HTTP_PORT: 'x' })
  expect(other).toHaveLength(1)
})

test('the plan is compared with even polling, and the worst delay is never below the mean', async () => {
  const plain = await run([], { BRIDGE_UPSTREAM_PLAN: 'free' })
  expect(plain[2]).toMatch(/^mean delay .*; evenly spaced polls: .* \(the plan is \d\d % faster\)$/)
  const [line = ''] = await run(['--json'], { BRIDGE_UPSTREAM_PLAN: 'free' })
  const { meanDelayS, evenMeanDelayS, hours } = JSON.parse(line)
  expect(meanDelayS / evenMeanDelayS).toBeLessThan(0.5)
  for (const hour of hours) expect(hour.worstDelayS).toBeGreaterThanOrEqual(hour.meanDelayS)
})

test('a quota for a poll every few seconds needs no plan, which the output says', async () => {
  const quota = { BRIDGE_UPSTREAM_WEEKLY_QUOTA: '1000000' }
  expect((await run([], quota)).join()).toContain('no planning is needed')
  expect(JSON.parse((await run(['--json'], quota)).join())).toMatchObject({ weeklyQuota: 1_000_000 })
})

test('another plan is planned with its own figures, whatever the settings override', async () => {
  const env = {
    BRIDGE_UPSTREAM_PLAN: 'free',
    BRIDGE_UPSTREAM_WEEKLY_QUOTA: '100',
    BRIDGE_UPSTREAM_PAGE_SIZE: '10',
  }
  expect((await run(['--plan', 'lite'], env))[0]).toContain('plan lite: 1500 units a week, pages of 50')
  await expect(run(['--plan', 'lit'])).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('mean "lite"'),
  })
})

test('--compare shows every plan in a table', async () => {
  const lines = await comparedLite()
  const at = lines.findIndex((line) => line.startsWith('PLAN '))
  expect(lines.slice(at + 1).map((line) => line.split(' ')[0])).toEqual([...planNames])
  expect(lines.filter((line) => line.endsWith('← this plan'))).toEqual([expect.stringMatching(/^lite /)])
})

test('of the plans that --compare compares, each is faster than the smaller ones', async () => {
  const [line = ''] = await run(['--compare', '--json'])
  const { plans } = JSON.parse(line).compared
  expect(plans.map(({ plan }: { plan: string }) => plan)).toEqual([...planNames])
  const delays: number[] = plans.map(({ meanDelayS }: { meanDelayS: number }) => meanDelayS)
  expect(delays).toEqual(delays.toSorted((one, other) => other - one))
  for (const { polls, weeklyQuota } of plans) expect(polls).toBeLessThanOrEqual(weeklyQuota)
})
