import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { isWhole, type SoakDay, type SoakRun, writeResult } from './result.ts'
import type { Sample } from './samples.ts'

const whole: SoakDay = {
  ...{ date: '2026-02-03', walk: 'complete', gapsLeft: 0, items: 19_000, missing: [], twice: [] },
  ...{ vanished: 2, undelivered: 0, judgedAt: '2026-11-24T00:45:00.000Z' },
}

/** One life of `minutes`, which grows after its first hour and opens a descriptor now and then; ten come and go each hour. */
function life(minutes: number, mbAnHour: number, descriptorEveryMinutes: number): Sample[] {
  return Array.from({ length: minutes * 2 }, (_, index) => {
    const age = index / 2
    const connections = Math.floor((age + 15) / 30) % 2 === 0 ? 10 : 0
    const grownMb = Math.max(0, age - 60) * (mbAnHour / 60)
    return {
      ...{ name: 'bridge', pid: 7, atMs: 1_800_000_000_000 + age * 60_000, age, cpuS: age * 3 },
      ...{ rssMb: 200 + grownMb + (index % 5), heapMb: 60 + (index % 7), externalMb: 10, loopS: 0.1 },
      descriptors: 40 + connections + Math.floor(age / descriptorEveryMinutes),
      ...{ streams: 2, pending: 0, storeMb: 100 },
    }
  })
}

function verdictOf(days: SoakDay[], samples: Sample[], runs: SoakRun[] = []): Record<string, unknown[]> {
  using directory = temporaryDirectory()
  const file = join(directory.path, 'result.json')
  writeResult(file, { log: 'embedded', runs, days }, samples)
  return (JSON.parse(readFileSync(file, 'utf8')) as { verdict: Record<string, unknown[]> }).verdict
}

test('a flat life of three hours and whole days are a soak without a finding', () => {
  expect(verdictOf([whole, whole], life(180, 0, 1000))).toEqual({
    ...{ days: 2, incompleteDays: [], growing: [], unsure: [], moreDescriptors: [], broken: [] },
  })
})

test('a single look with fewer descriptors says nothing', () => {
  const samples = life(180, 0, 1000)
  Object.assign(samples[70] ?? {}, { descriptors: 39 })
  expect(verdictOf([whole], samples).moreDescriptors).toEqual([])
})

test('connections that are gone while a broker is stopped, every 25 minutes, say nothing', () => {
  const samples = life(133, 0, 1000)
  const stoppedAt = [15, 40, 65, 90, 115]
  for (const sample of samples)
    if (stoppedAt.some((age) => sample.age >= age && sample.age <= age + 1)) sample.descriptors = 30
  const brokerStops = stoppedAt.map((age) => ({
    at: new Date(1_800_000_000_000 + age * 60_000).toISOString(),
    signal: 'SIGKILL',
    seconds: 30,
  }))
  const run = { startedAt: '2027-01-15T08:00:00.000Z', endedAt: '2027-01-15T10:15:00.000Z', commit: 'c' }
  const counted = { minutes: 133, restarts: [], counts: null, failures: {}, broken: [] }
  expect(verdictOf([whole], samples, [{ ...run, ...counted, brokerStops }]).moreDescriptors).toEqual([])
  expect(verdictOf([whole], samples).moreDescriptors).toHaveLength(1)
})

test('five megabytes an hour, descriptors that stay open, and a day with a gap are named', () => {
  const found = verdictOf([whole, { ...whole, date: '2026-02-04', gapsLeft: 1 }], life(180, 5, 30))
  expect(found).toMatchObject({
    incompleteDays: ['2026-02-04'],
    growing: [expect.stringMatching(/^bridge from/)],
    moreDescriptors: [expect.stringMatching(/^bridge from/)],
  })
})

test.each([{ walk: 'pending' }, { gapsLeft: 1 }, { missing: ['a'] }, { twice: ['a'] }, { undelivered: 1 }])(
  'a day with %o is not whole',
  (flaw) => {
    expect(isWhole(whole)).toBe(true)
    expect(isWhole({ ...whole, ...flaw })).toBe(false)
  },
)
