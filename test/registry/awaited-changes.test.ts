import { expect, test } from 'vitest'
import { BridgeError } from '../../src/errors.ts'
import { createAwaitedChanges } from '../../src/registry/awaited-changes.ts'

test('a write resolves with its change, although another of the same key failed meanwhile', async () => {
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

test('a write that begins when an earlier change is seen waits for its own change', async () => {
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
