import { expect, test } from 'vitest'
import { type Role, superviseRoles } from '../../src/lifecycle/supervisor.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

/** A role that runs until its signal aborts, and records that it did. */
function obedient(name: string, stopped: string[]): Role {
  return {
    name,
    run: (signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          stopped.push(name)
          resolve()
        })
      }),
  }
}

function supervise(roles: Role[]) {
  const clock = createManualClock()
  const stop = new AbortController()
  const done = superviseRoles(roles, { signal: stop.signal, drainTimeoutMs: 1000, clock })
  return { clock, stop, done }
}

test('roles run until the signal aborts, then all end', async () => {
  const stopped: string[] = []
  const { stop, done, clock } = supervise([obedient('a', stopped), obedient('b', stopped)])
  await Promise.resolve()
  expect(stopped).toEqual([])
  stop.abort()
  await done
  expect(stopped).toEqual(['a', 'b'])
  expect(clock.nextTimerMs()).toBeNull()
})

test('a signal that aborted before the start stops the roles', async () => {
  const stop = new AbortController()
  stop.abort()
  const waiting: Role = {
    name: 'a',
    run: (signal) =>
      signal.aborted
        ? Promise.resolve()
        : new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  }
  await expect(
    superviseRoles([waiting], { signal: stop.signal, drainTimeoutMs: 1000, clock: createManualClock() }),
  ).resolves.toBeUndefined()
})

test('a role that fails stops the others and is the fault that comes out', async () => {
  const stopped: string[] = []
  const broken: Role = { name: 'c', run: () => Promise.reject(new Error('disk gone')) }
  const { done } = supervise([obedient('a', stopped), broken])
  await expect(done).rejects.toThrow('disk gone')
  expect(stopped).toEqual(['a'])
})

test('a role that ends by itself is a fault', async () => {
  const stopped: string[] = []
  const { done } = supervise([obedient('a', stopped), { name: 'short', run: () => Promise.resolve() }])
  await expect(done).rejects.toThrow('"short" ended unexpectedly')
  expect(stopped).toEqual(['a'])
})

test('a role that does not stop is given up after the budget', async () => {
  const deaf: Role = { name: 'deaf', run: () => new Promise(() => {}) }
  const { stop, done, clock } = supervise([deaf])
  stop.abort()
  while (clock.nextTimerMs() === null) await Promise.resolve()
  clock.advance(1000)
  await expect(done).rejects.toMatchObject({
    code: 'failed',
    hint: expect.stringContaining('BRIDGE_DRAIN_TIMEOUT'),
  })
})

test('a role that fails is the fault that comes out, also where another one does not stop then', async () => {
  const deaf: Role = { name: 'deaf', run: () => new Promise(() => {}) }
  const broken: Role = { name: 'c', run: () => Promise.reject(new Error('disk gone')) }
  const { done, clock } = supervise([deaf, broken])
  while (clock.nextTimerMs() === null) await Promise.resolve()
  clock.advance(1000)
  await expect(done).rejects.toThrow('disk gone')
})
