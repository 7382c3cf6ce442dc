/**
 * Disables a webhook endpoint, and notifies the tenant's other endpoints that opted in of that, of dead deliveries and of
 * the end of such trouble (docs/adr/0005). A notification survives a crash at any moment.
 */
import type { NoticeKind } from '../../core/filter/filter.ts'
import { wantsNotice } from '../../core/filter/webhook-opt-in.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Endpoint, Endpoints } from '../../registry/endpoints.ts'
import type { DeliveryEndpoint, DisableReason } from '../delivery-state/endpoint-state.ts'
import type { DueNotice } from '../delivery-state/endpoint-trouble.ts'
import { verdictOn, waitAfter } from '../delivery-state/outcome.ts'
import { type Attempted, type PostMeans, postEvent } from '../send/delivery.ts'
import { disabledEvent, type SystemEvent, systemDelivery, troubleEvent } from '../send/system-event.ts'
import type { DisableCommand, KeyedCommand, NotificationCommand } from './command-rows.ts'
import type { Commands } from './commands.ts'

/** Most notifications of a tenant that wait to be sent; further ones are created when there is room. */
const MAX_NOTIFICATIONS = 10_000
/** An endpoint is disabled by one command at a time. */
const DISABLE_ID = 'disable'

/** What notifications need of the process. */
export interface NotificationsOptions extends PostMeans {
  commands: Commands
  endpoints: Pick<Endpoints, 'get' | 'all' | 'disable'>
  /** The endpoint with its keys; null while nothing can be signed for it. */
  prepare: (endpoint: Endpoint) => DeliveryEndpoint | null
  /** Called for every attempt that had an end. */
  onAttempted: (attempted: Attempted) => void
  logger: Logger
}

/** Disables endpoints and notifies the others. */
export type Notifications = ReturnType<typeof createNotifications>

/** The notifications of this process. */
export function createNotifications(options: NotificationsOptions) {
  const { commands, endpoints, prepare, onAttempted, clock, chance, logger } = options

  /** Whether a notification can be sent at all once it is due: its endpoint is active. */
  const isOpen = (endpointId: string): boolean => endpoints.get(endpointId)?.status === 'active'
  const hasRoom = (tenant: string, more: number): boolean => {
    const waiting = commands
      .all()
      .filter(
        ({ command, endpointId }) =>
          command.kind === 'notice' && endpoints.get(endpointId)?.tenant === tenant,
      )
    return waiting.length + more <= MAX_NOTIFICATIONS
  }

  /**
   * Disables an endpoint, unless it is disabled or has another version than that, and has the other endpoints notified, even
   * if this process crashes. True where it was disabled.
   * @throws BridgeError `log_unavailable`
   */
  const disable = async (
    { id: endpointId, version }: Pick<Endpoint, 'id' | 'version'>,
    reason: DisableReason,
  ): Promise<boolean> => {
    const endpoint = endpoints.get(endpointId)
    if (endpoint?.version !== version || endpoint.status === 'disabled') return false
    // A command that is done disabled the endpoint earlier; it was made active again since.
    const isAsked = commands
      .of(endpointId)
      .some(({ command }) => command.kind === 'disable' && command.isDone !== true)
    if (!isAsked) {
      await commands.put(endpointId, DISABLE_ID, { kind: 'disable', reason, version, atMs: clock.now() })
    }
    return await endpoints.disable(endpointId, version, reason)
  }

  /** Stores a notification for each of the receivers. */
  const send = async (
    receivers: readonly Endpoint[],
    { id: eventId, json }: SystemEvent,
    atMs: number,
  ): Promise<void> => {
    const notification = { kind: 'notice', eventId, json, tries: 0, dueMs: atMs, atMs } as const
    for (const { id } of receivers) await commands.put(id, eventId, notification)
  }

  return {
    disable,
    /** Notifies the others of an endpoint's trouble, durably. With too many notifications waiting, this one is dropped. Rejects as `disable`. */
    async notify(endpointId: string, notice: DueNotice): Promise<void> {
      const endpoint = endpoints.get(endpointId)
      if (endpoint === null) return
      const receivers = receiversOf(endpoint, endpoints.all(), `webhook.${notice.kind}`)
      const isDropped = receivers.length > 0 && !hasRoom(endpoint.tenant, receivers.length)
      if (!isDropped) await send(receivers, troubleEvent(endpoint, notice), clock.now())
      // A notification that could not be stored is tried again: only then is the trouble logged.
      if (notice.kind === 'exhausted') logger.warn('webhook.exhausted', { endpointId, count: notice.count })
      else logger.info('webhook.recovered', { endpointId })
      if (isDropped) logger.warn('webhook.notification_abandoned', { endpointId, attempts: 0 })
    },
    /** Carries out a command to disable and creates the notifications; does nothing while too many wait. Rejects as `disable`. */
    async carryOut({ key, endpointId, id: commandId }: KeyedCommand, command: DisableCommand): Promise<void> {
      const { reason, version, isDone = false, atMs } = command
      if (!isDone) await endpoints.disable(endpointId, version, reason)
      const disabled = endpoints.get(endpointId)
      if (disabled?.status === 'disabled') {
        // A re-enabled endpoint may have the version of before: only `isDone` keeps it from being disabled again.
        if (!isDone) await commands.put(endpointId, commandId, { ...command, isDone: true })
        const receivers = receiversOf(disabled, endpoints.all(), 'webhook.disabled')
        if (receivers.length > 0 && !hasRoom(disabled.tenant, receivers.length)) return
        await send(receivers, disabledEvent(disabled, reason, atMs), atMs)
      }
      await commands.remove(key)
    },
    isOpen,
    /** Tries to deliver a notification; what follows is durable when it resolves. An abort ends it early. Rejects as `disable`. */
    async send(
      { key, endpointId, id }: KeyedCommand,
      notification: NotificationCommand,
      signal: AbortSignal,
    ): Promise<void> {
      const found = endpoints.get(endpointId)
      const endpoint = found === null ? null : prepare(found)
      if (endpoint === null) return
      const { eventId, json, atMs } = notification
      const { report, webhookId } = await postEvent(endpoint, { eventId, body: Buffer.from(json) }, options, {
        signal,
        mayLeave: () => isOpen(endpointId),
      })
      const { end } = report
      if (end.kind === 'aborted' || end.kind === 'no_socket') return
      const tries = notification.tries + 1
      const nowMs = clock.now()
      const { asked = 0 } = notification
      const verdict = verdictOn(end, { tries, asked, nowMs, chance: chance() })
      const delivery = systemDelivery({ id: eventId, atMs })
      onAttempted({ endpoint, delivery, attempt: tries, sort: 'first', webhookId, end, report, verdict })
      if (verdict.next === 'delivered' || verdict.next === 'dead') {
        if (verdict.next === 'dead')
          logger.warn('webhook.notification_abandoned', { endpointId, webhookId, attempts: tries })
        return commands.remove(key)
      }
      await commands.put(endpointId, id, { ...notification, tries, ...waitAfter(verdict, { asked, nowMs }) })
      if (verdict.next === 'disable') await disable(endpoint, 'gone')
    },
  }
}

/** The tenant's other active endpoints that opted in. */
function receiversOf({ id, tenant }: Endpoint, all: readonly Endpoint[], kind: NoticeKind): Endpoint[] {
  return all.filter(
    (other) =>
      other.id !== id &&
      other.tenant === tenant &&
      other.status === 'active' &&
      wantsNotice(other.filter, kind),
  )
}
