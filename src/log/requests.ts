/**
 * Defines requests between processes that share a log: any process sends a request, a process that serves such requests
 * responds. Neither becomes part of the event log.
 */

/** Most characters of a request. */
export const LONGEST_REQUEST = 16 * 1024
/** Most characters of a response. */
export const LONGEST_RESPONSE = 8 * 1024 * 1024

/** Responds to a request. `signal` aborts when nobody waits for the response, or this process no longer serves. */
export type RequestHandler = (request: string, signal: AbortSignal) => Promise<string>

/** Requests of any process to those that serve, and their responses. */
export interface Requests {
  /**
   * Resolves with the response; waits while nobody serves. Every serving process may receive the request, also more than
   * once, so handling it twice must do no harm. Rejects with the signal's reason when it aborts first.
   * @throws RangeError when it is longer than LONGEST_REQUEST; BridgeError `log_unavailable`
   */
  send(request: string, signal: AbortSignal): Promise<string>
  /**
   * Handles requests until the signal aborts, then resolves. Several are handled at a time.
   * @throws what `handler` throws before its signal aborts; RangeError when a response is longer than LONGEST_RESPONSE
   */
  serve(handler: RequestHandler, signal: AbortSignal): Promise<void>
}
