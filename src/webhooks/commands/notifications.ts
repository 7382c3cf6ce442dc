/**
 * `webhook.disabled.v1`: that the bridge has disabled an endpoint is told to the tenant's other active endpoints that name it
 * (contract §7, docs/adr/0005). Owns that nobody is left out when a process dies between the one and the other, who is told,
 * and the tries until it is. Refuses to know shards, and to decide that an endpoint is to be disabled.
 */
import type { Logger } from '../../obs/logger.ts'
import type { Endpoint, Endpoints } from '../../registry/endpoints.ts'
import type { DeliveryEndpoint, DisableReason } from '../delivery-state/endpoint-state.ts'
import { verdictOn, waitAfter } from '../delivery-state/outcome.ts'
import { wantsNotices } from '../endpoints/event-type-opt-in.ts'
import { type Attempted, type PostMeans, postEvent } from '../send/delivery.ts'
import { disabledEvent, ownDelivery } from '../send/system-event.ts'
import type { DisableCommand, KeyedCommand, NoticeCommand } from './command-rows.ts'
import type { Commands } from './commands.ts'

/** Most notices of a tenant that wait; then the next endpoint's are made when there is room. */
const MOST_NOTICES = 10_000
/** An endpoint is disabled by one command at a time. */
const DISABLE_ID = 'disable'

export interface NoticesOptions extends PostMeans {
  commands: Commands
  endpoints: Pick<Endpoints, 'get' | 'all' | 'disable'>
  /** The endpoint with its keys; null while nothing can be signed for it. */
  prepare: (endpoint: Endpoint) => DeliveryEndpoint | null
  /** Told of every attempt that had an end. */
  onAttempted: (attempted: Attempted) => void
  logger: Logger
}

export interface Notices {
  /**
   * Disables an endpoint, unless it is; who is to be told will be, also if this process dies.
   * @throws BridgeError `log_unavailable`
   */
  disable(endpointId: string, reason: DisableReason): Promise<void>
  /** Carries out the command to disable, and makes the notices. Does nothing while too many wait. Rejects as `disable`. */
  tell(keyed: KeyedCommand, command: DisableCommand): Promise<void>
  /** Whether a notice can be sent at all once it is due: its endpoint is active. */
  isOpen(endpointId: string): boolean
  /** Tries to deliver a notice; what follows is durable when it resolves. An abort ends it early. Rejects as `disable`. */
  send(keyed: KeyedCommand, notice: NoticeCommand, signal: AbortSignal): Promise<void>
}

/** The notices of this process. */
export function createNotices(options: NoticesOptions): Notices {
  const { commands, endpoints, prepare, onAttempted, clock, chance, logger } = options

  const hasRoom = (tenant: string, more: number): boolean => {
    const waiting = commands
      .all()
      .filter(
        ({ command, endpointId }) =>
          command.kind === 'notice' && endpoints.get(endpointId)?.tenant === tenant,
      )
    return waiting.length + more <= MOST_NOTICES
  }

  const disable: Notices['disable'] = async (endpointId, reason) => {
    const endpoint = endpoints.get(endpointId)
    if (endpoint === null || endpoint.status === 'disabled') return
    const { version } = endpoint
    // One that is done is of an earlier time: the endpoint was made active since.
    const isAsked = commands
      .of(endpointId)
      .some(({ command }) => command.kind === 'disable' && command.isDone !== true)
    if (!isAsked) {
      await commands.put(endpointId, DISABLE_ID, { kind: 'disable', reason, version, atMs: clock.now() })
    }
    await endpoints.disable(endpointId, reason)
  }

  return {
    disable,
    async tell({ key, endpointId, id: commandId }, command) {
      const { reason, version, isDone = false, atMs } = command
      if (!isDone && endpoints.get(endpointId)?.version === version)
        await endpoints.disable(endpointId, reason)
      const disabled = endpoints.get(endpointId)
      if (disabled?.status === 'disabled') {
        // Active again it has the version of before: only this says that it is not to be disabled once more.
        if (!isDone) await commands.put(endpointId, commandId, { ...command, isDone: true })
        const told = whoIsTold(disabled, endpoints.all())
        if (told.length > 0 && !hasRoom(disabled.tenant, told.length)) return
        const { id: eventId, json } = disabledEvent(disabled, reason, atMs)
        const notice: NoticeCommand = { kind: 'notice', eventId, json, tries: 0, dueMs: atMs, atMs }
        for (const { id } of told) await commands.put(id, eventId, notice)
      }
      await commands.remove(key)
    },
    isOpen: (endpointId) => endpoints.get(endpointId)?.status === 'active',
    async send({ key, endpointId, id }, notice, signal) {
      const found = endpoints.get(endpointId)
      const endpoint = found === null ? null : prepare(found)
      if (endpoint === null) return
      const { eventId, json, atMs } = notice
      const { report, webhookId } = await postEvent(
        endpoint,
        { eventId, body: Buffer.from(json) },
        options,
        signal,
      )
      const { end } = report
      if (end.kind === 'aborted') return
      const tries = notice.tries + 1
      const nowMs = clock.now()
      const { asked = 0 } = notice
      const verdict = verdictOn(end, { tries, asked, nowMs, chance: chance() })
      const delivery = ownDelivery({ id: eventId, atMs })
      onAttempted({ endpoint, delivery, attempt: tries, sort: 'first', webhookId, end, report, verdict })
      if (verdict.next === 'delivered' || verdict.next === 'dead') {
        if (verdict.next === 'dead')
          logger.warn('webhook.notice_dead', { endpointId, webhookId, attempts: tries })
        return commands.remove(key)
      }
      await commands.put(endpointId, id, { ...notice, tries, ...waitAfter(verdict, { asked, nowMs }) })
      if (verdict.next === 'disable') await disable(endpointId, 'gone')
    },
  }
}

/** Never the disabled one itself: it is not active. */
function whoIsTold({ tenant }: Endpoint, all: readonly Endpoint[]): Endpoint[] {
  return all.filter(
    (other) => other.tenant === tenant && other.status === 'active' && wantsNotices(other.filter),
  )
}
