import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BridgeError } from '../../src/errors.ts'
import type { KafkaSettings } from '../../src/settings/kafka.ts'
import { KafkaCredentialFiles } from '../../src/settings/kafka-credentials.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { type KeptLine, keepingLogger } from '../support/keeping-logger.ts'
import { createTestAuthority, type TestCertificate } from '../support/test-certificates.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { passSeconds } from '../support/time/pass-seconds.ts'

const authority = createTestAuthority()
const first = authority.issue(['bridge'])
const PASSWORD = 'the-first-password'
const TO_MS = Date.UTC(2040, 0, 1)
const long = { fromMs: Date.UTC(2020, 0, 1), toMs: TO_MS }

/** Credentials that all come from files, and are followed. */
function followed() {
  const directory = temporaryDirectory()
  const path = (name: string): string => join(directory.path, name)
  const write = (name: string, text: string): void => writeFileSync(path(name), text)
  const writePair = ({ cert, key }: TestCertificate): void => {
    write('cert', cert)
    write('key', key)
  }
  write('ca', authority.ca)
  writePair(first)
  write('password', `${PASSWORD}\n`)
  const kafka: Pick<KafkaSettings, 'tls' | 'sasl' | 'files'> = {
    tls: { ca: authority.ca, ...first },
    sasl: { mechanism: 'plain', username: 'bridge', password: PASSWORD },
    files: { ca: path('ca'), cert: path('cert'), key: path('key'), password: path('password') },
  }
  const { logger, lines } = keepingLogger()
  const clock = createManualClock()
  const secrets: string[] = []
  const onSecret = (password: string): void => void secrets.push(password)
  const credentials = new KafkaCredentialFiles({ kafka, onSecret, clock, logger })
  const end = new AbortController()
  const done = credentials.run(end.signal)
  onTestFinished(async () => {
    end.abort()
    await done
    directory[Symbol.dispose]()
    expect(clock.nextTimerMs(), 'a timer was left behind').toBeNull()
  })
  return { credentials, clock, lines, secrets, path, write, writePair, kafka }
}

/** The message of the error in a line, and its hint. */
function errorOf(line: KeptLine | undefined): { message: string; hint: string } {
  if (!(line?.fields.error instanceof BridgeError)) throw new Error('the line has no error')
  const { message, hint = '' } = line.fields.error
  return { message, hint }
}

test('a renewed certificate is that of the next connection, and authorities and password stay', async () => {
  const { credentials, clock, lines, writePair, kafka } = followed()
  expect(credentials.current).toEqual({ tls: kafka.tls, sasl: kafka.sasl })
  const next = authority.issue(['bridge'], long)
  writePair(next)
  await passSeconds(clock, 6)
  const { tls, sasl } = credentials.current
  expect([tls?.cert?.trim(), tls?.key?.trim(), tls?.ca]).toEqual([
    next.cert.trim(),
    next.key.trim(),
    authority.ca,
  ])
  expect(sasl).toEqual(kafka.sasl)
  const fields = { name: 'BRIDGE_KAFKA_TLS_CERT_FILE', until: '2040-01-01T00:00:00.000Z' }
  expect(lines).toEqual([{ level: 'info', event: 'kafka.certificate_reloaded', fields }])
})

test('authorities are taken by themselves, also while the certificate is refused', async () => {
  const { credentials, clock, lines, write } = followed()
  const both = `${authority.ca}${createTestAuthority('the next').ca}`
  write('ca', both)
  write('key', 'no key')
  await passSeconds(clock, 30)
  expect(credentials.current.tls).toMatchObject({ ca: both.trim(), cert: first.cert, key: first.key })
  expect(lines).toMatchObject([
    {
      level: 'info',
      event: 'kafka.certificate_reloaded',
      fields: { name: 'BRIDGE_KAFKA_TLS_CA_FILE', until: expect.any(String) },
    },
    {
      level: 'error',
      event: 'kafka.certificate_refused',
      fields: { name: 'BRIDGE_KAFKA_TLS_CERT_FILE' },
    },
  ])
})

test.each([
  ['a key of another certificate', 'key', authority.issue(['other']).key, 'does not hold the key'],
  ['half a certificate', 'cert', first.cert.slice(0, first.cert.length / 2), 'no line BEGIN CERTIFICATE'],
  ['half a chain', 'cert', `${first.cert}${authority.ca.slice(0, 99)}`, 'no line END CERTIFICATE'],
  ['half a bundle', 'ca', `${authority.ca}${authority.ca.slice(0, 99)}`, 'no line END CERTIFICATE'],
  ['an empty file', 'ca', '', 'no line BEGIN CERTIFICATE'],
  ['no file', 'cert', null, 'there is no such file'],
])(
  '%s leaves what is in use, and is logged once as error with a hint',
  async (_what, name, text, message) => {
    const { credentials, clock, lines, path, write, kafka } = followed()
    if (text === null) rmSync(path(name))
    else write(name, text)
    await passSeconds(clock, 40)
    expect(credentials.current.tls).toEqual(kafka.tls)
    expect(lines).toMatchObject([{ level: 'error', event: 'kafka.certificate_refused' }])
    expect(errorOf(lines[0]).message).toContain(message)
    expect(errorOf(lines[0]).hint).toContain('stays in use')
    expect(JSON.stringify(errorOf(lines[0]))).not.toContain('PRIVATE KEY')
  },
)

test('a new password is a secret of the log before it is used; an empty file changes nothing', async () => {
  const { credentials, clock, lines, secrets, write } = followed()
  write('password', '\n')
  await passSeconds(clock, 20)
  expect(credentials.current.sasl?.password).toBe(PASSWORD)
  write('password', 'the-second-password\n')
  await passSeconds(clock, 6)
  expect(credentials.current.sasl).toEqual({
    mechanism: 'plain',
    username: 'bridge',
    password: 'the-second-password',
  })
  expect(secrets).toEqual(['the-second-password'])
  expect(lines).toMatchObject([
    { level: 'error', event: 'kafka.password_refused' },
    { level: 'info', event: 'kafka.password_reloaded', fields: {} },
  ])
  expect(errorOf(lines[0]).hint).toContain('stays in use')
})

test('without files there is nothing to follow', () => {
  const { logger } = keepingLogger()
  const kafka = { tls: null, sasl: null, files: {} }
  const parts = { kafka, onSecret: () => undefined, clock: createManualClock(), logger }
  expect(new KafkaCredentialFiles(parts).hasFiles).toBe(false)
})
