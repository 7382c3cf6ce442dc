import { expect, test } from 'vitest'
import { kafkaVersion } from './versions.ts'

test('a release is given by its line or exactly, and the newest is the default', () => {
  expect(kafkaVersion(undefined).number).toBe('4.3.1')
  expect(kafkaVersion('').number).toBe('4.3.1')
  expect(kafkaVersion('4').number).toBe('4.3.1')
  expect(kafkaVersion('3.9').number).toBe('3.9.1')
  expect(kafkaVersion('3.9.1').number).toBe('3.9.1')
  expect(() => kafkaVersion('2.8')).toThrow('KAFKA_VERSION is 2.8; the tests know 4 (4.3.1), 3.9 (3.9.1)')
})
