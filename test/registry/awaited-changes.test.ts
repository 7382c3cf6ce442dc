import { expect, test } from 'vitest'
import { BridgeError } from '../../src/errors.ts'
import { createAwaitedChanges } from '../../src/registry/awaited-changes.ts'

test('a write ends with its change, also where another of its key was refused meanwhile', async () => {
  const awaited = createAwaitedChanges(new AbortController().signal)
  const away = new BridgeError('log_unavailable', 'away')
  const refused = awaited.write('key', () => Promise.reject(away))
  let isOver = false
  const written = awaited
    .write('key', () => Promise.resolve())
    .then(() => {
      isOver = true
    })
  await expect(refused).rejects.toBe(away)
  expect(isOver).toBe(false)
  awaited.seen('key')
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(true)
  await written
})

test('a write that begins when the change of another is seen waits for its own', async () => {
  const awaited = createAwaitedChanges(new AbortController().signal)
  const first = awaited.write('key', () => Promise.resolve())
  awaited.seen('key')
  let isOver = false
  const second = awaited
    .write('key', () => Promise.resolve())
    .then(() => {
      isOver = true
    })
  await first
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  awaited.seen('key')
  await second
})
