/** Lists what a hostile webhook receiver may answer, as bytes on a socket, with addresses of the inside to lead to. */
import { createServer, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'

/** Writes an answer on a connection on which a request has arrived. */
export type HostileAnswer = (socket: Socket) => void

const OK = 'HTTP/1.1 200 OK\r\n'
const KIB = 1024
/** Between two bytes of an answer that drips. */
const DRIP_MS = 100

const say =
  (bytes: string | Buffer): HostileAnswer =>
  (socket) =>
    socket.end(bytes)
const sayAndStay =
  (bytes: string | Buffer): HostileAnswer =>
  (socket) =>
    void socket.write(bytes)
const sayForEver =
  (head: string, piece: string | Buffer): HostileAnswer =>
  (socket) => {
    socket.write(head)
    const more = (): void => {
      while (socket.writable && socket.write(piece));
    }
    socket.on('drain', more)
    more()
  }
const drip =
  (head: string, piece: string): HostileAnswer =>
  (socket) => {
    socket.write(head)
    const timer = setInterval(() => socket.write(piece), DRIP_MS)
    socket.on('close', () => clearInterval(timer))
  }
const redirect = (status: number, location: string): HostileAnswer =>
  say(`HTTP/1.1 ${status} Go\r\nLocation: ${location}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)

/** Every answer by its name; `inner` are addresses that no delivery may reach. */
export function hostileAnswers(inner: readonly string[]): Readonly<Record<string, HostileAnswer>> {
  const bomb = gzipSync(Buffer.alloc(32 * KIB * KIB))
  const redirects = [300, 301, 302, 303, 305, 307, 308].flatMap((status) =>
    inner.map((location) => [`${status} to ${location}`, redirect(status, location)] as const),
  )
  return {
    ...Object.fromEntries(redirects),
    'a link of refreshing': say(
      `${OK}Refresh: 0; url=${inner[0]}\r\nLink: <${inner[0]}>; rel=preload\r\nContent-Length: 0\r\n\r\n`,
    ),
    'nothing, and stays': () => {},
    'nothing, and closes': say(''),
    'a reset': (socket) => void socket.resetAndDestroy(),
    'no HTTP': say('SSH-2.0-OpenSSH_9.6\r\n'),
    'a status of two digits': say('HTTP/1.1 20 OK\r\n\r\n'),
    'a status of four digits': say('HTTP/1.1 2000 OK\r\n\r\n'),
    'a status 000': say('HTTP/1.1 000 \r\nContent-Length: 0\r\n\r\n'),
    'a status 999': say('HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n'),
    'a version that is none': say('HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n'),
    'a reason of 100 KB': say(`HTTP/1.1 500 ${'x'.repeat(100 * KIB)}\r\n\r\n`),
    'a reason that steers': say('HTTP/1.1 500 \u001b[2J\u009b\r\nContent-Length: 0\r\n\r\n'),
    'a header of 1 MB': say(`${OK}X: ${'x'.repeat(KIB * KIB)}\r\n\r\n`),
    'ten thousand headers': say(`${OK}${'X: y\r\n'.repeat(10_000)}\r\n`),
    'headers without end': sayForEver(OK, `X: ${'y'.repeat(KIB)}\r\n`),
    'a head that drips': drip('HTTP/1.1 2', 'x'),
    'provisional answers without end': sayForEver('', 'HTTP/1.1 102 Processing\r\n\r\n'),
    'an upgrade that nobody asked for': sayAndStay(
      'HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    ),
    'a body without end': sayForEver(`HTTP/1.1 500 No\r\n\r\n`, 'x'.repeat(64 * KIB)),
    'a body that drips': drip('HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\n', 'x'),
    'a body that is shorter than it says': say('HTTP/1.1 500 No\r\nContent-Length: 1000\r\n\r\nx'),
    'a length beyond every number': say(`HTTP/1.1 500 No\r\nContent-Length: ${'9'.repeat(40)}\r\n\r\nx`),
    'two lengths': say(`${OK}Content-Length: 1\r\nContent-Length: 5\r\n\r\nhello`),
    'a length and chunks': say(`${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    'a chunk beyond every number': say(`${OK}Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(17)}\r\nx`),
    'chunks without end': sayForEver(`${OK}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n'.repeat(1000)),
    'a second answer': say(`${OK}Content-Length: 0\r\n\r\n`.repeat(100)),
    'a bomb': (socket) => {
      socket.write(`HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`)
      socket.end(bomb)
    },
    'an encoding that is none': say(
      `HTTP/1.1 500 No\r\nContent-Encoding: ${'gzip,'.repeat(500)}br\r\nContent-Length: 1\r\n\r\nx`,
    ),
    'text that steers': say(
      'HTTP/1.1 500 No\r\nContent-Length: 24\r\n\r\n\u001b]0;x\u0007\u009b2J\u202e\u2028\u0000<b>'.padEnd(
        120,
      ),
    ),
    'a pause of a hundred years': say(
      'HTTP/1.1 503 No\r\nRetry-After: 99999999999\r\nContent-Length: 0\r\n\r\n',
    ),
    'a pause that is over': say('HTTP/1.1 429 No\r\nRetry-After: -5\r\nContent-Length: 0\r\n\r\n'),
    'a pause that is no number': say(
      'HTTP/1.1 429 No\r\nRetry-After: NaN, 1e999\r\nContent-Length: 0\r\n\r\n',
    ),
    'many pauses': say(`HTTP/1.1 429 No\r\n${'Retry-After: 1\r\n'.repeat(50)}Content-Length: 0\r\n\r\n`),
    'a login': say('HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n'),
    'a proxy login': say('HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n'),
    'its cookies': say(`${OK}${'Set-Cookie: a=b; Domain=.\r\n'.repeat(100)}Content-Length: 0\r\n\r\n`),
    'another service': say(
      `${OK}Alt-Svc: h2="${new URL(inner[0] ?? '').host}"; ma=9999\r\nContent-Length: 0\r\n\r\n`,
    ),
  }
}

/** Receivers, a port each. */
export interface HostileReceivers extends AsyncDisposable {
  /** URL of the receiver that gives that answer. */
  urls: ReadonlyMap<string, string>
}

/** Starts a receiver for each answer; each answers once a whole request has come. */
export async function startHostileReceivers(
  answers: Readonly<Record<string, HostileAnswer>>,
): Promise<HostileReceivers> {
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  const urls = new Map<string, string>()
  for (const [name, answer] of Object.entries(answers)) {
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => {})
      let request = ''
      const read = (chunk: Buffer): void => {
        request += chunk.toString('latin1')
        if (!isWhole(request)) return
        socket.off('data', read).resume()
        answer(socket)
      }
      socket.on('data', read)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = address !== null && typeof address === 'object' ? address.port : 0
    urls.set(name, `http://127.0.0.1:${port}/in`)
    servers.push(server)
  }
  return {
    urls,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}

function isWhole(request: string): boolean {
  const end = request.indexOf('\r\n\r\n')
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(request)?.[1] ?? 0)
  return end >= 0 && request.length >= end + 4 + length
}
