import { expect, test } from 'vitest'
import { createReleaseStack } from '../../src/lifecycle/release-stack.ts'

test('steps are released newest first, each once, however often release is called', async () => {
  const stack = createReleaseStack()
  const released: string[] = []
  for (const name of ['log', 'listener', 'role']) {
    stack.push(name, async () => {
      await null
      released.push(name)
    })
  }
  await Promise.all([stack.release(), stack.release()])
  await stack.release()
  expect(released).toEqual(['role', 'listener', 'log'])
})

test('a release that fails stops no other, and is named', async () => {
  const stack = createReleaseStack()
  const released: string[] = []
  stack.push('log', () => void released.push('log'))
  stack.push('listener', () => {
    throw new Error('port stuck')
  })
  stack.push('role', () => Promise.reject(new Error('role stuck')))
  const error: unknown = await stack.release().catch((thrown) => thrown)
  expect(released).toEqual(['log'])
  expect(error).toBeInstanceOf(AggregateError)
  expect(String(error)).toMatch(/role.*listener/)
})
