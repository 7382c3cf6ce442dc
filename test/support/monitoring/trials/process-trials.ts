/** Trials of what befalls a process and its machine: disk, backups, certificates, restarts, places, time. */
import { writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DAY_MS, HOUR_MS } from '../../../../src/core/durations.ts'
import { systemClock } from '../../../../src/lifecycle/clock.ts'
import { temporaryDirectory } from '../../bridge-process.ts'
import { bearer, eventually } from '../../http/api-client.ts'
import { startSmallDisk } from '../../small-disk.ts'
import { createTestAuthority, type TestCertificate } from '../../test-certificates.ts'
import { LOCAL_RECEIVERS } from '../../webhooks/endpoint-api.ts'
import { startInstallation } from '../installation.ts'
import { firstOf, operate, overAndOver, publish } from '../operate.ts'
import { disposedWith } from '../placed-fault.ts'
import type { RunbookTrial } from './trial.ts'

const DISK_BYTES = 320 * 1024 * 1024
const MB = 1024 * 1024
/** More than Prometheus needs to look again. */
const SCRAPE_MS = 2_500
/** Prometheus sees it gone, and there again. */
const AWAY_MS = 6_000

export const processTrials: readonly RunbookTrial[] = [
  {
    name: 'disk-full',
    about:
      'not one byte fits on the volume, while a receiver is away and clients ask for webhooks; then there is room',
    alerts: {
      BridgeDiskLow: 60,
      BridgeNotReady: 120,
      BridgeShardStuck: 180,
      BridgeCommitUnknown: 240,
      BridgeApiErrors: 120,
    },
    overSeconds: 120,
    async start() {
      const disk = await startSmallDisk(DISK_BYTES)
      const installation = await startInstallation({ name: 'disk-full', disk, settings: LOCAL_RECEIVERS })
      const base = firstOf(installation).process().ready.http
      const headers = { ...bearer, 'content-type': 'application/json' }
      const ask = async (method: string, path: string, body?: object): Promise<void> => {
        const answer = await fetch(`${base}${path}`, { method, headers, body: JSON.stringify(body) })
        await answer.arrayBuffer()
      }
      return {
        ...disposedWith(installation, disk),
        async break() {
          await ask('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/' })
          publish(installation)
          await eventually(
            async () => (await fetch(`http://${firstOf(installation).target}/metrics`)).text(),
            (text) => /^bridge_webhook_failing_endpoints 1$/m.test(text),
          )
          disk.fill()
          publish(installation)
          for (let n = 0; n < 30; n++) await ask('POST', '/v1/webhooks', { url: `http://127.0.0.1:9/${n}` })
        },
        async mend() {
          disk.makeRoom()
          // Prometheus counts from the first number that it sees of a route.
          for (let n = 0; n < 3_000; n++) {
            await ask('GET', '/v1/status')
            if (n % 300 === 0) await sleep(SCRAPE_MS)
          }
        },
      }
    },
  },
  {
    name: 'disk-filling',
    about: 'a file grows by a megabyte a second; then it is removed',
    alerts: { BridgeDiskFilling: 60 },
    overSeconds: 300,
    async start() {
      const disk = await startSmallDisk(DISK_BYTES)
      const installation = await startInstallation({ name: 'disk-filling', disk })
      return {
        ...disposedWith(installation, disk),
        async break() {
          for (let second = 0; second < 20; second++) {
            disk.grow(MB)
            await sleep(1_000)
          }
        },
        mend: () => disk.makeRoom(),
      }
    },
  },
  {
    name: 'backup-old',
    about: 'no backup for 27 hours; then `bridge backup`',
    alerts: { BridgeBackupOld: 60 },
    overSeconds: 60,
    async start() {
      const installation = await startInstallation({ name: 'backup-old' })
      const { env } = firstOf(installation)
      const directory = env.BRIDGE_DATA_DIR ?? ''
      const backup = (name: string): Promise<void> =>
        operate(installation, `bridge backup ${join(directory, name)}`)
      return {
        ...disposedWith(installation),
        async break() {
          await backup('first')
          // Prometheus has our time and no other: the note of the backup is as old as it would be.
          const takenAt = new Date(systemClock.now() - 27 * HOUR_MS).toISOString()
          writeFileSync(join(directory, 'backup.json'), JSON.stringify({ takenAt, file: 'first', bytes: 1 }))
        },
        mend: () => backup('second'),
      }
    },
  },
  {
    name: 'certificate-expires',
    about: 'the certificate of the listener has ten days left; then it is renewed',
    alerts: { BridgeCertificateExpires: 60 },
    overSeconds: 60,
    async start() {
      const authority = createTestAuthority()
      const issue = (days: number): TestCertificate => {
        const nowMs = systemClock.now()
        return authority.issue(['localhost'], { fromMs: nowMs - DAY_MS, toMs: nowMs + days * DAY_MS })
      }
      const directory = temporaryDirectory()
      const use = ({ cert, key }: TestCertificate): void => {
        writeFileSync(join(directory.path, 'cert.pem'), cert)
        writeFileSync(join(directory.path, 'key.pem'), key)
      }
      use(issue(90))
      const installation = await startInstallation({
        name: 'certificate-expires',
        settings: {
          BRIDGE_HTTP_TLS_CERT_FILE: join(directory.path, 'cert.pem'),
          BRIDGE_HTTP_TLS_KEY_FILE: join(directory.path, 'key.pem'),
          NODE_TLS_REJECT_UNAUTHORIZED: '0',
        },
      })
      return {
        ...disposedWith(installation, { [Symbol.asyncDispose]: async () => directory[Symbol.dispose]() }),
        break: () => use(issue(10)),
        mend: () => use(issue(90)),
      }
    },
  },
  {
    name: 'process-killed',
    about: 'kill -9 of the only process; then it is started',
    alerts: { BridgeDown: 30 },
    // A fifth of five minutes counts as down.
    overSeconds: 360,
    async start() {
      const installation = await startInstallation({ name: 'process-killed' })
      return {
        ...disposedWith(installation),
        break: async () => void (await firstOf(installation).process().stop('SIGKILL')),
        mend: () => firstOf(installation).restart(),
      }
    },
  },
  {
    name: 'crash-loop',
    about: 'kill -9 of the only process, four times within a minute; then it is left alone',
    alerts: { BridgeCrashLoop: 60, BridgeLeaderFlaps: 60 },
    overSeconds: 960,
    async start() {
      const installation = await startInstallation({ name: 'crash-loop' })
      return {
        ...disposedWith(installation),
        async break() {
          for (let kill = 0; kill < 4; kill++) {
            await firstOf(installation).process().stop('SIGKILL')
            await sleep(AWAY_MS)
            await firstOf(installation).restart()
            await sleep(AWAY_MS)
          }
        },
        mend: () => {},
      }
    },
  },
  {
    name: 'streams-full',
    about: 'a client asks for forty streams more than the node takes; then it leaves it alone',
    alerts: { BridgeStreamsRefused: 60 },
    overSeconds: 960,
    async start() {
      const installation = await startInstallation({
        name: 'streams-full',
        settings: { BRIDGE_STREAM_MAX_CLIENTS: '1' },
      })
      const url = `${firstOf(installation).process().ready.http}/v1/events`
      const over = new AbortController()
      return {
        ...disposedWith(installation),
        async break() {
          const first = await fetch(url, { headers: bearer, signal: over.signal })
          if (!first.ok) throw new Error(`the first stream got ${first.status}`)
          for (let n = 0; n < 40; n++) {
            const { body } = await fetch(url, { headers: bearer })
            await body?.cancel()
            // Prometheus counts from the first it sees of a series.
            await sleep(200)
          }
        },
        mend: () => over.abort(),
      }
    },
  },
  {
    name: 'process-held',
    about: 'the process stands still for a second of every two; then it runs',
    alerts: { BridgeEventLoopHeld: 240 },
    overSeconds: 400,
    async start() {
      const installation = await startInstallation({ name: 'process-held' })
      const { child } = firstOf(installation).process()
      return {
        ...disposedWith(installation),
        ...overAndOver(async () => {
          child.kill('SIGSTOP')
          await sleep(1_200)
          child.kill('SIGCONT')
          await sleep(800)
        }),
      }
    },
  },
  {
    name: 'machine-starved',
    about:
      'a thousand streams on a process that gets a twentieth of its machine, with items; then it gets all of it',
    alerts: { BridgeStreamsSlow: 300 },
    // Its windows are of half an hour and more.
    lasting: ['BridgeStreamsSlow'],
    overSeconds: 60,
    async start() {
      const installation = await startInstallation({
        name: 'machine-starved',
        settings: { BRIDGE_HTTP_RATE_PER_ADDRESS: '0' },
      })
      const { child, ready } = firstOf(installation).process()
      const agent = new Agent({ keepAlive: true })
      const open = (): Promise<void> =>
        new Promise((done, fail) => {
          const asked = get(`${ready.http}/v1/events`, { agent, headers: bearer }, (answer) => {
            answer.on('error', () => undefined).resume()
            done()
          })
          asked.on('error', fail)
        })
      for (let n = 0; n < 1_000; n++) await open()
      let turn = 0
      const fault = overAndOver(async () => {
        // Two items a second.
        if (turn++ % 5 === 0) publish(installation)
        child.kill('SIGSTOP')
        await sleep(95)
        child.kill('SIGCONT')
        await sleep(5)
      })
      return {
        ...disposedWith(installation),
        break: fault.break,
        async mend() {
          await fault.mend()
          agent.destroy()
        },
      }
    },
  },
]
