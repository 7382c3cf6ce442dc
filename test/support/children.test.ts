import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { endWithTests } from './children.ts'

test('any number of children takes one listener of the process, and none once they have ended', async () => {
  const before = process.listenerCount('exit')
  const children = Array.from({ length: 12 }, () =>
    spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']),
  )
  for (const child of children) endWithTests(child)
  expect(process.listenerCount('exit')).toBe(before + 1)
  const ended = children.map((child) => once(child, 'close'))
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(ended)
  expect(process.listenerCount('exit')).toBe(before)
})
