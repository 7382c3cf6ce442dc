/**
 * Opens a TCP listener for an Express app: sets time limits, answers requests that are not valid HTTP, and closes
 * within a given time.
 */
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { BridgeError } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Logger } from '../obs/logger.ts'
import type { HttpRefusalCause } from '../obs/metrics.ts'
import type { TakeConnection } from './bounds/connection-slots.ts'
import { StallWatch } from './bounds/stall-watch.ts'
import { endAnswer } from './end-answer.ts'
import { headersProblem, MAX_HEAD_BYTES } from './limits.ts'
import { hasLongAnswer, markPipelined } from './long-answer.ts'
import { BoundedRequest, exceedsPipeline, oneAtATime } from './pipelining.ts'
import { HttpProblem, problemAnswer, retryLater } from './problem.ts'
import { createListenerServer, followTlsFiles, type TlsFiles } from './tls.ts'
import { answerClientError, type Upgrade } from './upgrade.ts'

/** Where to listen. */
export interface ListenAddress {
  host: string
  /** 0 picks a free one. */
  port: number
  /** The setting that gives the port, for the hint when it is taken. */
  setting: string
}

/** Where to listen, and the limits. */
export interface ListenOptions extends ListenAddress {
  clock: Clock
  logger: Logger
  /** Time for the headers and for the whole request; shorter in tests. */
  headersTimeoutMs?: number
  requestTimeoutMs?: number
  /** Most connections at a time; one more is closed at once. Absent or null: no bound. */
  maxConnections?: number | null
  /** Counts the connections of each address; absent: no bound. */
  takeConnection?: TakeConnection
  /** Called for every request or connection that is refused here because of too much traffic. */
  onRefused?: (cause: HttpRefusalCause) => void
  /** Takes over connections that leave HTTP; without it every upgrade is answered as an ordinary request. */
  upgrade?: Upgrade
  /** Its certificate; absent or null: plain HTTP. */
  tls?: TlsFiles | null
}

/** An open listener. */
export interface Listener {
  /** e.g. `http://127.0.0.1:8080`. */
  readonly url: string
  readonly port: number
  /** The certificate that new connections get, PEM with its chain; null on plain HTTP. */
  certificate(): string | null
  /**
   * Refuses new requests with 503, lets answers under way and connections that left HTTP end for at most `budgetMs`,
   * then closes every connection. Callable twice.
   */
  close(budgetMs: number): Promise<void>
}

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
const KEEP_ALIVE_MS = 65_000
/** Connections above the bound are logged at most this often. */
const DROP_LOG_MS = 60_000

/**
 * Opens a listener.
 * @throws BridgeError `failed` when another process listens there, `settings` when the address cannot be taken for another
 *   reason, or the certificate not be used
 */
export async function listen(handler: RequestListener, options: ListenOptions): Promise<Listener> {
  const headersTimeoutMs = options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS
  const stallWatch = new StallWatch(options.clock)
  /** Answers that their client has not taken yet, and connections that left HTTP or have an answer without end. */
  const busy = new Set<ServerResponse | Duplex>()
  const quiet = Promise.withResolvers<void>()
  const keepUntilClosed = (one: ServerResponse | Duplex): void => {
    busy.add(one)
    one.on('close', () => {
      busy.delete(one)
      if (closed !== null && busy.size === 0) quiet.resolve()
    })
  }
  let closed: Promise<void> | null = null
  const closeAll = async (budgetMs: number): Promise<void> => {
    certificate.end()
    if (busy.size === 0) quiet.resolve()
    const cancel = options.clock.after(budgetMs, quiet.resolve)
    await quiet.promise
    cancel()
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
      for (const one of busy) one.destroy()
    })
  }
  const tls = options.tls ?? null
  const server = createListenerServer(
    tls,
    {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Its own refusal has no body: ours has.
      requireHostHeader: false,
      IncomingMessage: BoundedRequest,
      shouldUpgradeCallback: (request) =>
        exceedsPipeline(request) ||
        (closed === null && faultOf(request) === null && options.upgrade?.accepts(request) === true),
    },
    (request, response) => {
      if (response.socket === null) markPipelined(request.socket)
      serveInTurn(request, response)
    },
  )
  const serveInTurn = oneAtATime((request, response) => {
    const { socket } = request
    if (hasLongAnswer(socket)) {
      socket.destroy()
      return
    }
    const fault = closed === null ? faultOf(request) : retryLater('unavailable', 'this node is stopping')
    if (fault !== null) {
      keepUntilClosed(response)
      return refuse(request, response, fault)
    }
    const unwatch = stallWatch.add(socket, () => {
      options.onRefused?.('stalled')
      socket.destroy()
    })
    response.on('close', () => {
      unwatch()
      // Streams have a watch of their own.
      if (hasLongAnswer(socket) && !socket.destroyed) keepUntilClosed(socket)
    })
    keepUntilClosed(response)
    handler(request, response)
  })
  server.on('clientError', (error, socket) => answerClientError(error, socket))
  // An expectation that nobody here knows may be passed over (RFC 9110 §10.1.1); Node would answer a 417 without a body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('upgrade', (request, socket, head) => {
    if (exceedsPipeline(request)) {
      options.onRefused?.('pipelined')
      socket.destroy()
      return
    }
    keepUntilClosed(socket)
    // A connection that breaks closes by itself; `take` listens to that.
    socket.on('error', () => {})
    options.upgrade?.take(request, socket, head)
  })
  limitConnections(server, options)
  try {
    server.listen(options.port, options.host)
    await once(server, 'listening')
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, options)
  }
  server.on('error', (error) => options.logger.error('http.accept_failed', { error }))
  const certificate = followTlsFiles(server, tls, options)
  const { port } = server.address() as AddressInfo
  return {
    url: `http${tls === null ? '' : 's'}://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    port,
    certificate: () => certificate.cert,
    close(budgetMs) {
      closed ??= closeAll(budgetMs)
      return closed
    },
  }
}

/** A connection above the bound is closed without an answer, which would cost one more open file. */
function limitConnections(server: Server, options: ListenOptions): void {
  const { maxConnections = null, takeConnection, clock, logger, onRefused } = options
  if (takeConnection !== undefined) {
    server.on('connection', (socket) => {
      const free = takeConnection(socket.remoteAddress)
      if (free !== null) return void socket.on('close', free)
      onRefused?.('address_connections')
      socket.destroy()
    })
  }
  if (maxConnections === null) return
  server.maxConnections = maxConnections
  let loggedMs = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    onRefused?.('connections')
    if (clock.now() - loggedMs < DROP_LOG_MS) return
    loggedMs = clock.now()
    logger.warn('http.connections_dropped', {
      warning: `there are ${maxConnections} connections, as many as this listener takes; others are closed at once. Look who opens so many; for the public listener, a higher limit of open files (ulimit -n, LimitNOFILE) makes room`,
    })
  })
}

/** Listens at that address and closes at once. @throws BridgeError as `listen` when it cannot be taken */
export async function tryListening(address: ListenAddress): Promise<void> {
  const server = createServer()
  try {
    server.listen(address.port, address.host)
    await once(server, 'listening')
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, address)
  }
  await new Promise((resolve) => server.close(resolve))
}

function cannotListen(cause: NodeJS.ErrnoException, { host, port, setting }: ListenAddress): BridgeError {
  const hints: Record<string, string> = {
    EADDRINUSE: `Another process listens there; stop it, or set ${setting} to another port (0 picks a free one).`,
    EACCES: `This user may not listen there; set ${setting} to a port above 1023.`,
    EADDRNOTAVAIL: `${host} is no address of this machine; set ${setting.replace(/_PORT$/, '_HOST')}.`,
  }
  const hint = hints[cause.code ?? ''] ?? `Check ${setting} and ${setting.replace(/_PORT$/, '_HOST')}.`
  // Another process may leave the port in a moment; a supervisor that starts this one again mends it.
  const code = cause.code === 'EADDRINUSE' ? 'failed' : 'settings'
  return new BridgeError(code, `cannot listen on ${host}:${port}`, { hint, cause })
}

/** What is wrong with the first line or the headers of a request; null where the app may see it. */
function faultOf(request: IncomingMessage): HttpProblem | null {
  const { httpVersion, rawHeaders } = request
  const isHost = (name: string, at: number): boolean => at % 2 === 0 && name.toLowerCase() === 'host'
  const hosts = rawHeaders.filter(isHost).length
  // RFC 9112 §3.2: exactly one in HTTP/1.1. Of two, a proxy may believe the one and this server the other.
  if (hosts > 1) return new HttpProblem('request_malformed', 'a request has one header Host')
  if (httpVersion === '1.1' && hosts === 0) return new HttpProblem('request_malformed', NO_HOST)
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new HttpProblem('request_malformed', 'this server speaks HTTP/1.1 and HTTP/1.0')
  }
  return headersProblem(request)
}

/** Answers a request that does not reach the app, and ends its connection. */
function refuse(request: IncomingMessage, response: ServerResponse, problem: HttpProblem): void {
  const { headers, body } = problemAnswer(problem)
  response.statusCode = problem.status
  response.setHeaders(new Map(Object.entries({ ...headers, Connection: 'close' })))
  endAnswer(request, response, body)
}

const NO_HOST = 'a request of HTTP/1.1 has the header Host'
