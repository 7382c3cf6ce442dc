import { expect, test } from 'vitest'
import { readRunbooks } from '../support/monitoring/runbooks.ts'
import { runbookTrials } from './runbooks.ts'

test('every runbook is tried against a fault', () => {
  const tried = new Set(runbookTrials.flat().flatMap(({ alerts }) => Object.keys(alerts)))
  expect(readRunbooks().flatMap(({ alert }) => (tried.has(alert) ? [] : [alert]))).toEqual([])
})
