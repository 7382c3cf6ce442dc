/**
 * Builds webhook delivery for the role `webhooks`, and the webhook routes for the role `api`.
 */
import { traceOfJourney } from '../archive/journeys.ts'
import { sequenceOfName } from '../archive/named-event.ts'
import { storedProvenance } from '../archive/store/provenance.ts'
import { NO_WEBHOOKS, type WebhookWiring, wireWebhooks } from '../webhooks/wiring.ts'
import type { Access } from './access.ts'
import { hasRole, type StartContext } from './context.ts'
import type { Storage } from './storage.ts'

/** Empty for a process with neither role. */
export function buildWebhooks(context: StartContext, storage: Storage, access: Access): WebhookWiring {
  if (!hasRole(context, 'api', 'webhooks')) return NO_WEBHOOKS
  const { settings, files, stack, roles } = context
  const { log, reader, archive, searchSlices } = storage
  const parts = wireWebhooks(
    {
      ...context,
      delivers: hasRole(context, 'webhooks'),
      serves: hasRole(context, 'api'),
      settings: settings.webhooks,
      keys: access.keys,
      dataDir: settings.dataDir,
      drainTimeoutMs: settings.drainTimeoutMs,
      mostAttempts: Math.max(1, files.outgoing),
      log,
      reader,
      searchSlices,
      findEvents: (ids) => archive.sequencesOf(ids, reader.latest),
      sequenceOf: (name) => sequenceOfName(archive, reader, name),
      endpoints: access.endpoints,
      traceOf: (sequence) => traceOfJourney(storedProvenance(archive.db, sequence)?.journey),
    },
    stack,
  )
  roles.push(...parts.roles)
  return parts
}
