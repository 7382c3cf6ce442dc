/**
 * Passes requests and responses inside one process, for the embedded log, which only one process uses. The newest handler
 * serves them.
 */
import { aborted } from '../lifecycle/aborted.ts'
import { createWakeup } from '../lifecycle/wakeup.ts'
import { LONGEST_REQUEST, LONGEST_RESPONSE, type RequestHandler, type Requests } from '../log/requests.ts'

interface Server {
  handle: RequestHandler
  /** Aborts when it no longer serves. */
  ended: AbortSignal
  fail(error: unknown): void
}

/** Requests without a handler yet. `open` throws once the log is closed; `closed` aborts then. */
export function createLocalRequests(open: () => void, closed: AbortSignal): Requests {
  const wakeup = createWakeup()
  let serving: Server | null = null

  /** The response; null when `either` aborted or the server failed before. */
  const responseOf = async (server: Server, request: string, either: AbortSignal): Promise<string | null> => {
    // Removes the listeners of `signal`; else they would keep the response in memory while the server serves.
    const over = new AbortController()
    const signal = AbortSignal.any([either, server.ended, over.signal])
    try {
      const response = await Promise.race([server.handle(request, signal), aborted(signal)])
      if (signal.aborted || response === undefined) return null
      checkResponse(response)
      return response
    } catch (error) {
      if (!signal.aborted) server.fail(error)
      return null
    } finally {
      over.abort()
    }
  }
  return {
    async send(request, signal) {
      open()
      checkRequest(request)
      const either = AbortSignal.any([signal, closed])
      while (!either.aborted) {
        if (serving === null) await wakeup.wait(either)
        else {
          const response = await responseOf(serving, request, either)
          if (response !== null) return response
        }
      }
      signal.throwIfAborted()
      open()
      throw either.reason
    },
    async serve(handler, signal) {
      open()
      const stop = new AbortController()
      const failed = Promise.withResolvers<never>()
      const ended = AbortSignal.any([signal, closed, stop.signal])
      const mine: Server = { handle: handler, ended, fail: failed.reject }
      serving = mine
      wakeup.wake()
      try {
        await Promise.race([aborted(ended), failed.promise])
      } finally {
        if (serving === mine) serving = null
        stop.abort()
      }
    },
  }
}

/** Throws RangeError where a request is too long to be sent. */
export function checkRequest(request: string): void {
  if (request.length > LONGEST_REQUEST) {
    throw new RangeError(`request of ${request.length} characters exceeds the limit of ${LONGEST_REQUEST}`)
  }
}

/** Throws RangeError where a response is too long to be sent. */
export function checkResponse(response: string): void {
  if (response.length > LONGEST_RESPONSE) {
    throw new RangeError(`response of ${response.length} characters exceeds the limit of ${LONGEST_RESPONSE}`)
  }
}
