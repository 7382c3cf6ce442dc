/**
 * Gives Node's HTTP servers without importing `node:http`: an import reads every name of it, and three of them load Node's own
 * fetch and WebSocket, which take 8 MB and which no server uses.
 */
import type * as Http from 'node:http'

const http = process.getBuiltinModule('node:http')

/** As of `node:http`. */
export const { createServer, IncomingMessage, ServerResponse, STATUS_CODES } = http
/** A request that came in. */
export type IncomingMessage = Http.IncomingMessage
/** The answer to it. */
export type ServerResponse = Http.ServerResponse
/** `createServer` of `node:https`. */
export const createTlsServer = process.getBuiltinModule('node:https').createServer
