import { expect, test } from 'vitest'
import { createEndLog } from '../../src/app/end-log.ts'
import { BridgeError } from '../../src/errors.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

function endLog() {
  const clock = createManualClock()
  const { logger, lines } = keepingLogger()
  const before = process.listenerCount('uncaughtExceptionMonitor')
  const log = createEndLog({ clock, logger })
  return { clock, lines, before, ...log }
}

test('a stop that fails half way names its error once, at the end, with how long it took', () => {
  const { clock, lines, stopping, stopped, close } = endLog()
  stopping(AbortSignal.abort(new DOMException('SIGTERM', 'AbortError')), null)
  clock.advance(2000)
  const error = new BridgeError('failed', 'the internal tasks did not stop within 2000 ms')
  stopped({ error })
  close()
  expect(lines).toEqual([
    { level: 'info', event: 'process.stopping', fields: { reason: 'SIGTERM' } },
    { level: 'error', event: 'process.stopped', fields: { exitCode: 1, durationMs: 2000, error } },
  ])
})

test('a fault is in the first line only, with the exit code of its kind in both', () => {
  const { lines, stopping, stopped, close } = endLog()
  const fault = { error: new BridgeError('kafka', 'wrong password') }
  stopping(new AbortController().signal, fault)
  stopped(fault)
  close()
  expect(lines.map(({ level, event, fields }) => [level, event, fields.exitCode, fields.error])).toEqual([
    ['error', 'process.stopping', 5, fault.error],
    ['error', 'process.stopped', 5, undefined],
  ])
})

test('a signal that no system signal aborted is a stop that was requested', () => {
  const { lines, before, stopping, stopped, close } = endLog()
  stopping(AbortSignal.abort(), null)
  stopped(null)
  expect(lines.map(({ level, fields }) => [level, fields.reason, fields.exitCode])).toEqual([
    ['info', 'requested', undefined],
    ['info', undefined, 0],
  ])
  close()
  expect(process.listenerCount('uncaughtExceptionMonitor')).toBe(before)
})
