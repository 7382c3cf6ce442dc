import { KafkaJSProtocolError } from 'kafkajs'
import { expect, test } from 'vitest'
import { mayPass, unavailable } from '../../../src/log-kafka/client/faults.ts'

test('an outage may pass, a right that is missing does not', () => {
  const forbidden = Object.assign(new Error('Not authorized'), { type: 'TOPIC_AUTHORIZATION_FAILED' })
  expect(mayPass(unavailable('creating topics', new Error('Connection timeout')))).toBe(true)
  expect(mayPass(unavailable('creating topics', new KafkaJSProtocolError(forbidden)))).toBe(false)
})
