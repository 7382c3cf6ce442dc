import { expect, test, vi } from 'vitest'
import { withStopSignal } from '../../src/lifecycle/signals.ts'

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s asks for a stop; the handlers go with the work',
  async (name) => {
    const before = process.listenerCount(name)
    await withStopSignal(async (signal) => {
      expect(signal.aborted).toBe(false)
      process.emit(name, name)
      expect(signal.aborted).toBe(true)
    })
    expect(process.listenerCount(name)).toBe(before)
  },
)

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('a second signal, %s, ends the process at once with %d', async (name, code) => {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
  try {
    await withStopSignal(async () => {
      process.emit('SIGTERM', 'SIGTERM')
      process.emit(name, name)
    })
    expect(exit.mock.calls).toEqual([[code]])
  } finally {
    exit.mockRestore()
  }
})

test('the handlers go when the work fails', async () => {
  const before = process.listenerCount('SIGTERM')
  await expect(withStopSignal(() => Promise.reject(new Error('x')))).rejects.toThrow('x')
  expect(process.listenerCount('SIGTERM')).toBe(before)
})
