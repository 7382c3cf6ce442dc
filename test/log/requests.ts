/**
 * Tests the contract of src/log/log.ts for requests and responses, over any adapter. What only several processes show
 * is in the adapters' own tests.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { aborted } from '../../src/lifecycle/aborted.ts'
import type { Log } from '../../src/log/log.ts'
import { LONGEST_REQUEST, LONGEST_RESPONSE, type RequestHandler } from '../../src/log/requests.ts'
import type { OpenLog } from './takeovers.ts'

/** Runs the suite over logs that `open` makes. */
export function describeRequests(name: string, open: OpenLog): void {
  describe(`requests on the ${name} log`, () => {
    let log: Log
    let stop: AbortController
    beforeEach(async () => {
      log = await open({})
      stop = new AbortController()
    })
    afterEach(() => log.close())

    const ask = (question: string, signal = stop.signal) => log.requests.send(question, signal)
    const serve = (answer: RequestHandler, signal = stop.signal) => log.requests.serve(answer, signal)
    const echo: RequestHandler = async (question) => `${question}!`

    it('get their own responses, several at a time', async () => {
      const held = Promise.withResolvers<void>()
      void serve(async (question) => {
        if (question === 'first') await held.promise
        return `${question}!`
      })
      const first = ask('first')
      expect(await Promise.all([ask('second'), ask('third')])).toEqual(['second!', 'third!'])
      held.resolve()
      expect(await first).toBe('first!')
    })

    it('keep every character of a response, up to the maximum length', async () => {
      const odd = `\u0000"\n\u2028é€😀`
      const long = odd.repeat(200_000).slice(0, 700_001).concat('😀'.repeat(500_000))
      void serve(async (question) => (question === 'long' ? long : question))
      expect(await ask(odd)).toBe(odd)
      expect((await ask('long')) === long).toBe(true)
      expect(await ask('')).toBe('')
    })

    it('wait for a request handler, and for the next when one has ended', async () => {
      const early = ask('early')
      const first = new AbortController()
      const serving = serve(echo, first.signal)
      expect(await early).toBe('early!')
      first.abort()
      await serving
      const late = ask('late')
      void serve(async (question) => `${question}?`)
      expect(await late).toBe('late?')
    })

    it('move to the next request handler when theirs ends without a response', async () => {
      const first = new AbortController()
      const taken = Promise.withResolvers<AbortSignal>()
      const serving = serve((_question, signal) => {
        taken.resolve(signal)
        return aborted(signal).then(() => 'too late')
      }, first.signal)
      const asked = ask('question')
      const heard = await taken.promise
      first.abort()
      await serving
      expect(heard.aborted).toBe(true)
      void serve(echo)
      expect(await asked).toBe('question!')
    })

    it('end with the reason of an aborted signal, which reaches the request handler', async () => {
      const gone = new AbortController()
      const taken = Promise.withResolvers<AbortSignal>()
      void serve((_question, signal) => {
        taken.resolve(signal)
        return aborted(signal).then(() => 'nobody hears it')
      })
      const asked = ask('question', gone.signal)
      const heard = await taken.promise
      const reason = new Error('gone')
      gone.abort(reason)
      await expect(asked).rejects.toBe(reason)
      await aborted(heard)
      await expect(ask('question', AbortSignal.abort(reason))).rejects.toBe(reason)
    })

    it('that are too long are refused, and an error in a response is reported to the handler', async () => {
      await expect(ask('x'.repeat(LONGEST_REQUEST + 1))).rejects.toThrow(RangeError)
      const fault = new Error('ours')
      const failing = serve(() => Promise.reject(fault))
      const asked = ask('question')
      await expect(failing).rejects.toBe(fault)
      const long = serve(async () => 'x'.repeat(LONGEST_RESPONSE + 1))
      await expect(long).rejects.toThrow(RangeError)
      void serve(echo)
      expect(await asked).toBe('question!')
    })

    it('end with the log', async () => {
      const serving = serve(echo)
      await log.close()
      await serving
      await expect(ask('question')).rejects.toThrow('closed')
      await expect(serve(echo)).rejects.toThrow('closed')
    })
  })
}
