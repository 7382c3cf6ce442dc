/** Puts a real Caddy with the shipped configuration in front of a bridge: TLS, HTTP/2, event streams, WebSockets. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import {
  ADMIN_TOKEN,
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { root } from '../../support/house/repository.ts'
import { eventually } from '../../support/http/api-client.ts'
import { freePorts } from '../../support/kafka/runtime/ports.ts'
import { createTestAuthority, type TestCertificate } from '../../support/test-certificates.ts'
import { hasTool } from '../../support/tools.ts'

const CADDYFILE = join(root, 'deploy/compose/Caddyfile')
const authorization = `Bearer ${ADMIN_TOKEN}`

test.skipIf(!hasTool('caddy', 'caddy'))(
  'the proxy speaks TLS and HTTP/2, holds back no stream, upgrades WebSockets and shows no metrics',
  async () => {
    using folder = temporaryDirectory()
    using data = temporaryDirectory()
    const authority = createTestAuthority()
    const bridge = await startBridge(bridgeEnv({ url: 'http://127.0.0.1:9/v2', key: 'none' }, data.path))
    const ports = await freePorts(3)
    const caddy = startCaddy(folder.path, ports, bridge, authority.issue(['localhost']))
    const [https, , health] = ports
    try {
      await eventually(
        () =>
          fetch(`http://127.0.0.1:${health}/`).then(
            ({ status }) => status,
            () => 0,
          ),
        (status) => status === 204,
      )
      const client = connect(`https://localhost:${https}`, { ca: authority.ca })
      const ask = (path: string): ClientHttp2Stream => client.request({ ':path': path, authorization })
      const status = await untilText(ask('/v1/status'), '"quota"')
      expect(client.alpnProtocol).toBe('h2')
      expect(status).toMatchObject({ ':status': 200, 'strict-transport-security': 'max-age=31536000' })
      // The log is empty and the stream goes on: what it begins with comes only where nothing waits for more.
      expect(await untilText(ask('/v1/events'), 'retry: 3000')).toMatchObject({ ':status': 200 })
      expect(await untilText(ask('/metrics'), '404')).toMatchObject({ ':status': 404 })
      client.destroy()

      const socket = new WebSocket(`wss://localhost:${https}/v1/stream`, {
        ca: authority.ca,
        headers: { authorization },
      })
      const types: string[] = []
      socket.on('message', (text) => types.push((JSON.parse(String(text)) as { type: string }).type))
      await eventually(
        () => types,
        (seen) => seen.includes('hello'),
      )
      socket.terminate()
    } finally {
      caddy.kill('SIGKILL')
      await bridge.stop()
    }
  },
)

/** Caddy in front of that bridge; its ports are 443 and 80 in a container. */
function startCaddy(
  folder: string,
  [https = 0, http = 0, health = 0]: readonly number[],
  { ready }: BridgeProcess,
  { cert, key }: TestCertificate,
): ChildProcess {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const shipped = readFileSync(CADDYFILE, 'utf8')
  const config = file('Caddyfile', shipped.replace(/^\{$/m, `{\n\thttps_port ${https}\n\thttp_port ${http}`))
  return spawn('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], {
    stdio: 'ignore',
    env: {
      ...{ PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      PROXY_SITE: 'localhost',
      PROXY_TLS: `${file('cert.pem', cert)} ${file('key.pem', key)}`,
      PROXY_BRIDGES: new URL(ready.http).host,
      PROXY_OPS_PORT: new URL(ready.ops).port,
      PROXY_HEALTH_PORT: String(health),
    },
  })
}

/** The headers of an answer once its body, which may go on, has that text. Rejects with what came where it ends without. */
function untilText(stream: ClientHttp2Stream, wanted: string): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    let headers: IncomingHttpHeaders = {}
    let text = ''
    stream.on('response', (given) => {
      headers = given
    })
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (!text.includes(wanted)) return
      resolve(headers)
      stream.close()
    })
    stream.on('end', () => reject(new Error(`${headers[':status']}: ${text}`)))
    stream.on('error', reject)
  })
}
