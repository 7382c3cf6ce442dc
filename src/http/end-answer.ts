/** Ends an answer so that its client sees it, also one that still sends the body of a refused request. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * Sends the body and ends the answer; status and headers are set. Where the connection ends with the answer, a client that still
 * sends its body would see a reset instead. So the rest of the body is read first; the listener's time limit of a request bounds
 * that.
 */
export function endAnswer(request: IncomingMessage, response: ServerResponse, body: string | Buffer): void {
  if (request.complete || !isLast(response)) {
    response.end(body)
    return
  }
  // Without its length a client would take the answer for unfinished until its own body is out.
  if (!response.headersSent) response.setHeader('Content-Length', Buffer.byteLength(body))
  response.write(body)
  request.on('close', () => response.end())
  request.resume()
}

/** Whether the connection ends with it. Of a header `Connection: close` of ours `shouldKeepAlive` knows nothing. */
function isLast(response: ServerResponse): boolean {
  return !response.shouldKeepAlive || response.getHeader('connection') === 'close'
}
