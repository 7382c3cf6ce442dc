import { writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { type Listener, listen } from '../../src/http/listener.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createTestAuthority, type TestAuthority } from '../support/test-certificates.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { passSeconds } from '../support/time/pass-seconds.ts'

/** A listener with a certificate of that authority for `localhost`. */
async function secured(authority: TestAuthority) {
  const directory = temporaryDirectory()
  const tls = { certFile: join(directory.path, 'cert.pem'), keyFile: join(directory.path, 'key.pem') }
  const write = ({ cert, key }: { cert: string; key: string }): void => {
    writeFileSync(tls.certFile, cert)
    writeFileSync(tls.keyFile, key)
  }
  write(authority.issue(['localhost']))
  const { logger, lines } = keepingLogger()
  const clock = createManualClock()
  const listener = await listen((_request, response) => void response.end('served'), {
    ...{ host: '127.0.0.1', port: 0, setting: 'X', clock, logger, tls },
  })
  onTestFinished(async () => {
    await listener.close(0)
    directory[Symbol.dispose]()
    expect(clock.nextTimerMs(), 'a timer was left behind').toBeNull()
  })
  return { listener, clock, lines, write }
}

/** The body over TLS, or the code of the fault. */
function ask({ port }: Listener, { ca }: TestAuthority): Promise<string> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, servername: 'localhost', ca, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      response.on('end', () => resolve(text))
    }).on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
}

test('a listener with certificate files speaks TLS, and takes a renewed certificate while it runs', async () => {
  const [before, after] = [createTestAuthority(), createTestAuthority('the next')]
  const { listener, clock, lines, write } = await secured(before)
  expect(listener.url).toBe(`https://127.0.0.1:${listener.port}`)
  expect(await ask(listener, before)).toBe('served')
  write(after.issue(['localhost']))
  await passSeconds(clock, 6)
  expect(await ask(listener, after)).toBe('served')
  expect(await ask(listener, before)).not.toBe('served')
  expect(lines).toMatchObject([{ level: 'info', event: 'http.certificate_reloaded' }])
})

test('files that do not fit are logged, and the certificate before stays in use until they do', async () => {
  const authority = createTestAuthority()
  const { listener, clock, lines, write } = await secured(authority)
  const [one, other] = [authority.issue(['localhost']), authority.issue(['localhost'])]
  write({ cert: one.cert, key: other.key })
  await passSeconds(clock, 15)
  expect(await ask(listener, authority)).toBe('served')
  write(one)
  process.emit('SIGHUP', 'SIGHUP')
  await passSeconds(clock, 1)
  expect(lines).toMatchObject([
    { level: 'error', event: 'http.certificate_refused' },
    { level: 'info', event: 'http.certificate_reloaded' },
  ])
})

test('a client that speaks plain HTTP, rubbish or an old TLS to it gets no answer, and the next client is served', async () => {
  const authority = createTestAuthority()
  const { listener } = await secured(authority)
  for (const text of [
    'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
    '\u0016\u0003\u0001\u0000\u0005hello',
    '\u0000'.repeat(600),
  ]) {
    const socket = connect(listener.port, '127.0.0.1')
    let received = ''
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.write(text)
    await new Promise((resolve) => socket.once('close', resolve))
    expect(received).not.toContain('HTTP/')
  }
  const old = connectTls({
    port: listener.port,
    host: '127.0.0.1',
    maxVersion: 'TLSv1.1',
    minVersion: 'TLSv1',
  })
  await new Promise((resolve) => old.once('error', resolve))
  expect(await ask(listener, authority)).toBe('served')
})

test('a certificate that cannot be used ends the start with the settings to look at', async () => {
  const { logger } = keepingLogger()
  const tls = { certFile: 'none.pem', keyFile: 'none.pem' }
  const options = { host: '127.0.0.1', port: 0, setting: 'X', clock: createManualClock(), logger, tls }
  await expect(listen(() => undefined, options)).rejects.toMatchObject({
    code: 'settings',
    hint: expect.stringContaining('BRIDGE_HTTP_TLS_CERT_FILE'),
  })
})
