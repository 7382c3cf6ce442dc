/**
 * Lists webhooks that a receiver accepts or refuses, as data: the committed vectors, random ones signed by the
 * official library, and forged ones.
 */
import { Webhook } from 'standardwebhooks'
import { signatureVectors } from '../../core/signature-vectors.ts'

/** The verdict of a receiver. */
export type Verdict = 'genuine' | 'refused' | 'no secret'

/** One request as a receiver sees it. */
export interface ReceiverCase {
  name: string
  secret: string
  id: string
  timestamp: string
  signature: string
  nowSeconds: number
  body: Buffer
  verdict: Verdict
}

/** A message to be signed. */
export interface RandomMessage {
  /** Bytes of the secret, and of another one. */
  key: Uint8Array
  otherKey: Uint8Array
  text: string
}

const TOLERANCE_SECONDS = 300

/** Six words separated by blanks, each `_` and base64: secret, id, timestamp, signature, now, body. */
export function lineOf({ secret, id, timestamp, signature, nowSeconds, body }: ReceiverCase): string {
  const fields = [secret, id, timestamp, signature, String(nowSeconds), body]
  return fields.map((field) => `_${Buffer.from(field).toString('base64')}`).join(' ')
}

/** The same for a shell, which would start a process for each word: in its own quotes, only the body as base64. */
export function shellLineOf({ secret, id, timestamp, signature, nowSeconds, body }: ReceiverCase): string {
  const words = [secret, id, timestamp, signature, String(nowSeconds), body.toString('base64')]
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
}

/** The committed vectors, at their own time. */
export function vectorCases(): ReceiverCase[] {
  return signatureVectors.map((vector) => ({
    name: `vector ${vector.webhookId}`,
    secret: vector.secret,
    id: vector.webhookId,
    timestamp: String(vector.timestampSeconds),
    signature: vector.signature,
    nowSeconds: vector.timestampSeconds,
    body: Buffer.from(vector.body),
    verdict: 'genuine',
  }))
}

/** One message that was signed at `nowSeconds`, and its possible errors. */
export function messageCases({ key, otherKey, text }: RandomMessage, nowSeconds: number): ReceiverCase[] {
  const secret = secretOf(key)
  const other = secretOf(otherKey)
  const body = JSON.stringify({ text })
  const sign = (by: string, seconds = nowSeconds): string => signed(by, seconds, body)
  const genuine: Omit<ReceiverCase, 'name'> = {
    secret,
    id: ID,
    timestamp: String(nowSeconds),
    signature: sign(secret),
    nowSeconds,
    body: Buffer.from(body),
    verdict: 'genuine',
  }
  const at = (seconds: number): Partial<ReceiverCase> => ({
    timestamp: String(seconds),
    signature: sign(secret, seconds),
  })
  const changes: Record<string, Partial<ReceiverCase>> = {
    'as it was signed': {},
    'by another secret': { signature: sign(other), verdict: 'refused' },
    'with another body': { body: Buffer.from(`${body} `), verdict: 'refused' },
    'with another id': { id: `${ID}0`, verdict: 'refused' },
    'as old as may be': at(nowSeconds - TOLERANCE_SECONDS),
    'too old': { ...at(nowSeconds - TOLERANCE_SECONDS - 1), verdict: 'refused' },
    'as far ahead as may be': at(nowSeconds + TOLERANCE_SECONDS),
    'too far ahead': { ...at(nowSeconds + TOLERANCE_SECONDS + 1), verdict: 'refused' },
    'at a time that was not signed': { timestamp: String(nowSeconds - 1), verdict: 'refused' },
    'new secret first': { signature: `${sign(other)} ${sign(secret)}` },
    'old secret first': { signature: `${sign(secret)} ${sign(other)}` },
    'two that are both of others': { signature: `${sign(other)} ${sign(other)}`, verdict: 'refused' },
  }
  return Object.entries(changes).map(([name, change]) => ({ ...genuine, ...change, name }))
}

/** Forged messages, beside a genuine one. */
export function strangeCases({ key, text }: RandomMessage, nowSeconds: number): ReceiverCase[] {
  const secret = secretOf(key)
  const body = JSON.stringify({ text })
  const signature = signed(secret, nowSeconds, body)
  const digest = signature.slice('v1,'.length)
  const timestamp = String(nowSeconds)
  const genuine = { secret, id: ID, timestamp, signature, nowSeconds, body: Buffer.from(body) }
  const refused = (change: Partial<ReceiverCase>): ReceiverCase => {
    const [[name, value] = ['', '']] = Object.entries(change)
    return { ...genuine, ...change, name: `${name} ${String(value).slice(0, 40)}`, verdict: 'refused' }
  }
  return [
    ...['', ' ', 'v1', 'v1,', `v1, ${digest}`, digest, `v1a,${digest}`, `v2,${digest}`, `V1,${digest}`].map(
      (strange) => refused({ signature: strange }),
    ),
    ...[`v1,${digest}x`, `v1,${digest.slice(0, -1)}`, `v1,${digest.toLowerCase()}`, `v1,${digest},`].map(
      (strange) => refused({ signature: strange }),
    ),
    ...['*', 'v1,*', 'v1,é𝄞', `v1,${'A'.repeat(5000)}`, 'v1,,,,', '$(id)', '%s%n'].map((strange) =>
      refused({ signature: strange }),
    ),
    ...['', 'soon', `-${timestamp}`, `+${timestamp}`, ` ${timestamp}`, `${timestamp}.0`, `${timestamp}x`].map(
      (strange) => refused({ timestamp: strange }),
    ),
    ...['1e9', '0x10', '9'.repeat(40), '٣٣٣٣٣٣٣٣٣٣', `0${timestamp}`, 'a[$(id)]'].map((strange) =>
      refused({ timestamp: strange }),
    ),
    ...['', 'é', `${ID}.${timestamp}`].map((strange) => refused({ id: strange })),
    { ...genuine, name: 'behind others', signature: `v2,x *  v1a,y ${signature}`, verdict: 'genuine' },
    ...['', 'whsec_', 'whsec_AAAA', `whsec_${'*'.repeat(40)}`].map(
      (none): ReceiverCase => ({
        ...genuine,
        name: `secret "${none}"`,
        secret: none,
        verdict: 'no secret',
      }),
    ),
  ]
}

/** The id of every message here. */
const ID = 'msg_5c07e8818e89b9ec52f72eae04d0084d'

function secretOf(key: Uint8Array): string {
  return `whsec_${Buffer.from(key).toString('base64')}`
}

/** By the official library. */
function signed(secret: string, seconds: number, body: string): string {
  return new Webhook(secret).sign(ID, new Date(seconds * 1000), body)
}

/** The official library's verdict on a case with the current time. */
export function officialVerdict({ secret, id, timestamp, signature, body }: ReceiverCase): Verdict {
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
  try {
    new Webhook(secret).verify(body, headers)
    return 'genuine'
  } catch {
    return 'refused'
  }
}
