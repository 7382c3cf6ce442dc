import { expect, test } from 'vitest'
import { createFaultLog, logLastingFaults, type Standing } from '../../src/obs/lasting-faults.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const MINUTE = 60_000
const fine: Standing = { is: 'fine' }
const failing: Standing = { is: 'bad', what: 'upstream_unavailable' }
const throttled: Standing = { is: 'bad', what: 'upstream_throttled' }
const refused: Standing = { is: 'bad', what: 'key_refused' }

/** A log of faults; `stand` says how the upstream stands from now on, for so long, looked at each five seconds. */
function faultLog() {
  const clock = createManualClock(Date.parse('2026-01-06T07:00:00Z'))
  const { logger, lines } = keepingLogger()
  const take = createFaultLog({ clock, logger })
  const stand = (standing: Standing, lastingMs = 5000, area = 'upstream'): void => {
    const endMs = clock.now() + lastingMs
    for (; clock.now() < endMs; clock.advance(5000)) take(area, standing)
  }
  const logged = () => lines.splice(0).map(({ level, event, fields }) => [level, event, fields.what])
  return { stand, logged, lines }
}

test('a bad state is one error after five minutes, with since and hint, and one info with how long it lasted', () => {
  const { stand, logged, lines } = faultLog()
  stand(failing, 5 * MINUTE)
  expect(lines).toEqual([])
  stand(failing, 60 * MINUTE)
  expect(lines).toMatchObject([
    {
      level: 'error',
      event: 'fault.lasting',
      fields: {
        what: 'upstream_unavailable',
        since: '2026-01-06T07:00:00.000Z',
        durationMs: 5 * MINUTE,
        hint: expect.stringContaining('bridge doctor'),
      },
    },
  ])
  lines.splice(0)
  stand(fine, 10 * MINUTE)
  expect(lines).toMatchObject([
    {
      level: 'info',
      event: 'fault.over',
      fields: { what: 'upstream_unavailable', since: '2026-01-06T07:00:00.000Z', durationMs: 65 * MINUTE },
    },
  ])
  lines.splice(0)
  stand(failing, 6 * MINUTE)
  expect(logged()).toEqual([['error', 'fault.lasting', 'upstream_unavailable']])
})

test('a state that is over sooner is not logged, however often it comes back', () => {
  const { stand, lines } = faultLog()
  for (let times = 0; times < 20; times++) {
    stand(failing, 4 * MINUTE)
    stand(fine)
  }
  expect(lines).toEqual([])
})

test('a refused key is an error at once, and one only', () => {
  const { stand, logged } = faultLog()
  stand(refused)
  expect(logged()).toEqual([['error', 'fault.lasting', 'key_refused']])
  stand(refused, 20 * MINUTE)
  stand(fine)
  expect(logged()).toEqual([['info', 'fault.over', 'key_refused']])
})

test('an upstream that fails in several ways in turn lasts as one; each way is logged once', () => {
  const { stand, logged } = faultLog()
  for (let times = 0; times < 10; times++) {
    stand(failing, MINUTE)
    stand(throttled, MINUTE)
  }
  expect(logged()).toEqual([
    ['error', 'fault.lasting', 'upstream_throttled'],
    ['error', 'fault.lasting', 'upstream_unavailable'],
  ])
  stand(fine)
  expect(logged().map(([, event]) => event)).toEqual(['fault.over', 'fault.over'])
})

test('what is unknown for a while neither begins a fault nor ends one; areas do not disturb each other', () => {
  const { stand, logged } = faultLog()
  stand({ is: 'unknown' }, 20 * MINUTE)
  stand(failing, MINUTE)
  stand({ is: 'unknown' }, 5 * MINUTE)
  stand(fine, MINUTE, 'log')
  stand(failing)
  expect(logged()).toEqual([['error', 'fault.lasting', 'upstream_unavailable']])
  stand({ is: 'fine', reason: 'this process no longer leads' })
  expect(logged()).toEqual([['info', 'fault.over', 'upstream_unavailable']])
})

test('the role looks at each area every five seconds and ends with its signal', async () => {
  const clock = createManualClock()
  const { logger, lines } = keepingLogger()
  let looks = 0
  const upstream = (): Standing => {
    looks += 1
    return looks < 3 ? fine : refused
  }
  const stop = new AbortController()
  const run = logLastingFaults({ clock, logger, areas: { upstream } }, stop.signal)
  for (let looked = 0; looked < 10 && lines.length === 0; looked++) {
    clock.advance(5000)
    await Promise.resolve()
  }
  expect([looks, lines[0]?.event]).toEqual([3, 'fault.lasting'])
  stop.abort()
  await run
  expect(clock.nextTimerMs()).toBeNull()
})
