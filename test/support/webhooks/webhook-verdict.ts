/** Checks what receivers got despite kills against the log's events (contract §7), and counts each violated promise. */
import { Webhook } from 'standardwebhooks'
import { isGap } from '../../../src/core/event.ts'
import { webhookId } from '../../../src/core/signature.ts'
import type { ApiEvent } from '../http/api-client.ts'
import type { Receipt } from './scripted-receivers.ts'

/** An endpoint, with the events that it is owed. */
export interface OwedEndpoint {
  /** The name of its receiver. */
  receiver: string
  id: string
  secret: string
  maxConcurrency: number
  order: 'none' | 'issuer'
  owed: readonly ApiEvent[]
}

/** What was counted, over all endpoints. */
export interface WebhookVerdict {
  owed: number
  /** Requests. */
  received: number
  /** Events that no request brought and saw taken. */
  missing: number
  /** Events that were brought again although they had been taken, or might have been. */
  repeats: number
  /** The most of them in the life before one kill, in shares of the endpoint's `maxConcurrency`. */
  worstShare: number
  /** Sentences, one a broken promise; empty: all were kept. */
  broken: string[]
}

/** Judges all endpoints. What came of events after the last that is owed is not looked at. */
export function judgeWebhooks(
  endpoints: readonly OwedEndpoint[],
  receipts: readonly Receipt[],
  /** How often a process was killed. Nothing else may cut an attempt: a shard that moves is left when its attempts have ended. */
  kills: number,
): WebhookVerdict {
  const verdict: WebhookVerdict = { owed: 0, received: 0, missing: 0, repeats: 0, worstShare: 0, broken: [] }
  const last = endpoints.reduce((most, { owed }) => {
    const sequence = owed.at(-1)?.sequence ?? ''
    return sequence > most ? sequence : most
  }, '')
  for (const endpoint of endpoints) {
    const own = receipts.filter(
      (receipt) => receipt.receiver === endpoint.receiver && eventIn(receipt).sequence <= last,
    )
    const say = (what: string): void => void verdict.broken.push(`${endpoint.receiver}: ${what}`)
    const missing = missingOf(endpoint, own)
    const byLife = repeatsByLife(own)
    const repeats = [...byLife.values()].reduce((sum, count) => sum + count, 0)
    const strange = strangers(endpoint, own)
    const unsigned = own.filter((receipt) => !isSigned(receipt, endpoint.secret)).length
    const overtaken = endpoint.order === 'issuer' ? overtakings(endpoint, own) : []
    const tooMany = [...byLife].filter(([life, count]) => {
      return count > (life < kills ? endpoint.maxConcurrency : 0)
    })
    verdict.owed += endpoint.owed.length
    verdict.received += own.length
    verdict.missing += missing.length
    verdict.repeats += repeats
    verdict.worstShare = Math.max(
      verdict.worstShare,
      ...[...byLife.values()].map((n) => n / endpoint.maxConcurrency),
    )
    if (missing.length > 0) say(`${missing.length} events are missing, the first ${missing[0]}`)
    for (const [life, count] of tooMany)
      say(`${count} repeats of what went out between kills ${life} and ${life + 1}`)
    if (strange > 0) say(`${strange} requests that no event of its filter explains`)
    if (unsigned > 0) say(`${unsigned} requests with a wrong signature`)
    if (overtaken.length > 0)
      say(`${overtaken.length} overtook an earlier one of their issuer: ${overtaken[0]}`)
  }
  return verdict
}

/** What an endpoint is owed of events that were pulled: pulls bring gap events whatever the filter, endpoints that do not name them get none. */
export function owedOf(pulled: readonly ApiEvent[]): ApiEvent[] {
  return pulled.filter(({ type }) => !isGap(type))
}

/** Whether every event that is owed was taken. */
export function allTaken(endpoints: readonly OwedEndpoint[], receipts: readonly Receipt[]): boolean {
  return endpoints.every((endpoint) => missingOf(endpoint, receipts).length === 0)
}

/** The id under which an endpoint gets an event, which was read over the API. */
export function webhookIdOf(endpointId: string, { id, data }: Pick<ApiEvent, 'id' | 'data'>): string {
  return webhookId(endpointId, id, Buffer.from(JSON.stringify(data)))
}

function missingOf({ receiver, id, owed }: OwedEndpoint, receipts: readonly Receipt[]): string[] {
  const taken = new Set(
    receipts.filter((one) => one.receiver === receiver && one.end === 'taken').map((one) => one.webhookId),
  )
  return owed.filter((event) => !taken.has(webhookIdOf(id, event))).map(({ sequence }) => sequence)
}

/** By the life in which the request before was taken or cut: how often it was followed by another. */
function repeatsByLife(receipts: readonly Receipt[]): Map<number, number> {
  const before = new Map<string, Receipt>()
  const repeats = new Map<number, number>()
  for (const receipt of receipts) {
    const last = before.get(receipt.webhookId)
    if (last !== undefined && last.end !== 'refused')
      repeats.set(last.life, (repeats.get(last.life) ?? 0) + 1)
    before.set(receipt.webhookId, receipt)
  }
  return repeats
}

/** Requests whose id is not that of their event, or whose event is not owed. */
function strangers({ id, owed }: OwedEndpoint, receipts: readonly Receipt[]): number {
  const known = new Map(owed.map((event) => [event.sequence, webhookIdOf(id, event)]))
  return receipts.filter((receipt) => known.get(eventIn(receipt).sequence) !== receipt.webhookId).length
}

function isSigned({ body, headers }: Receipt, secret: string): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

/** Events that came before an earlier one of their issuer had been taken. */
function overtakings({ owed }: OwedEndpoint, receipts: readonly Receipt[]): string[] {
  const takenAt = new Map<string, number>()
  for (const receipt of receipts) {
    const { sequence } = eventIn(receipt)
    if (receipt.end === 'taken' && !takenAt.has(sequence)) takenAt.set(sequence, receipt.answered ?? Infinity)
  }
  const before = new Map<string, string>()
  const earlier = new Map<string, string>()
  for (const { subject, sequence } of owed) {
    const last = before.get(subject)
    if (last !== undefined) earlier.set(sequence, last)
    before.set(subject, sequence)
  }
  return receipts.flatMap((receipt) => {
    const { sequence } = eventIn(receipt)
    const last = earlier.get(sequence)
    return last !== undefined && (takenAt.get(last) ?? Infinity) > receipt.came ? [sequence] : []
  })
}

function eventIn({ body }: Receipt): { sequence: string } {
  return JSON.parse(body) as { sequence: string }
}
