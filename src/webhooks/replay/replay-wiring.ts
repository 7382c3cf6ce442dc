/**
 * Connects the parts behind webhook replays, test events and notifications of disabled endpoints: stored commands,
 * their runner, the sender and the routes.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import type { Log } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Metrics } from '../../obs/metrics.ts'
import type { Endpoint, Endpoints } from '../../registry/endpoints.ts'
import type { IdempotencyKeys } from '../../registry/idempotency-keys.ts'
import type { AttemptHistory } from '../attempts/attempt-history.ts'
import { CommandRunner, type ReplayWorker } from '../commands/command-runner.ts'
import { createCommands } from '../commands/commands.ts'
import { createNotifications } from '../commands/notifications.ts'
import type { DeliveryEndpoint } from '../delivery-state/endpoint-state.ts'
import type { SecretBox } from '../endpoints/secrets.ts'
import type { Attempted, PostMeans } from '../send/delivery.ts'
import { testRoute } from '../send/test-route.ts'
import { prepareEndpoint } from '../worker/delivery-endpoint.ts'
import { replayRoute } from './replay-route.ts'
import type { FindEvents } from './replay-window.ts'

/** What it needs from the process. */
export interface ReplayWiringOptions extends PostMeans {
  log: Log
  reader: Reader
  findEvents: FindEvents
  /** Knows which deliveries wait; null in a process that does not serve. */
  history: Pick<AttemptHistory, 'deliveries'> | null
  /** Kept up to date by the caller. */
  endpoints: Endpoints
  /** Kept up to date by the caller, where routes are served. */
  idempotencyKeys: IdempotencyKeys
  secrets: SecretBox
  /** Called for every test that was not aborted. */
  onTested: (attempted: Attempted) => void
  /** Called for every attempt to deliver a notification that was not aborted. */
  onAttempted: (attempted: Attempted) => void
  metrics: Pick<Metrics, 'webhookAttempts' | 'webhookAttemptDuration'>
  logger: Logger
}

/** What a process runs and serves of them. */
export type ReplayWiring = ReturnType<typeof wireReplays>

/** Nothing is carried out before its runner runs. */
export function wireReplays(options: ReplayWiringOptions) {
  const { endpoints, secrets, reader, clock, logger } = options
  const commands = createCommands(options)
  const prepare = (found: Endpoint): DeliveryEndpoint | null => {
    const { endpoint, fault } = prepareEndpoint(found, secrets, clock)
    return fault === null ? endpoint : null
  }
  const notifications = createNotifications({ ...options, commands, prepare })
  return {
    /** To be run by every process that stores commands or carries them out. */
    commands,
    /** Disables an endpoint and notifies the tenant's others. */
    disable: notifications.disable,
    /** Notifies the tenant's others of an endpoint's trouble. */
    notify: notifications.notify,
    /** For the role api. */
    routes: [
      replayRoute({ ...options, commands }),
      testRoute({ ...options, prepare, hasten: commands.hasten }),
    ],
    /** Carries commands out, for a process with the role webhooks. */
    runner: (
      workerOf: (endpointId: string) => ReplayWorker | null,
      report: () => Promise<void> = async () => undefined,
    ) => new CommandRunner({ commands, endpoints, workerOf, notifications, report, reader, clock, logger }),
  }
}
