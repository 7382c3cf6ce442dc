/** Names what somebody wants done, so that the bridge does it once, however often it is asked. */
import { useRef } from 'preact/hooks'
import type { ApiResult } from '../../shell/api.ts'

/** One thing that is wanted: its name goes with each request for it. */
export interface Intent {
  /** The header for a request with this body. Another body is another intent. */
  headersFor: (body: unknown) => { 'idempotency-key': string }
  /** Takes what came of the request: after an answer the same body is a new intent, without one it is the same still. */
  answered: (result: ApiResult<unknown>) => void
}

/** Names for what one form or button asks for. */
export function createIntent(): Intent {
  let wanted: { text: string; key: string } | null = null
  return {
    headersFor(body) {
      const text = JSON.stringify(body)
      if (wanted?.text !== text) wanted = { text, key: randomKey() }
      return { 'idempotency-key': wanted.key }
    },
    answered(result) {
      // A bridge that fails may have acted before.
      const isOpen = !result.ok && (result.problem.kind === 'unreachable' || result.problem.kind === 'failed')
      if (!isOpen) wanted = null
    },
  }
}

/** An intent for as long as the component is in the page. */
export function useIntent(): Intent {
  const intent = useRef<Intent | null>(null)
  intent.current ??= createIntent()
  return intent.current
}

/** `crypto.randomUUID` is missing where the console is opened over plain HTTP. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
