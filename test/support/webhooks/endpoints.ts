/** Creates endpoints for tests: a request for one, and a node that follows the log's table of them. */
import { onTestFinished } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import type { Log } from '../../../src/log/log.ts'
import { Endpoints, type NewEndpoint } from '../../../src/registry/endpoints.ts'
import { newId } from '../../../src/registry/ids.ts'
import { until } from '../http/api-server.ts'
import { keepingLogger } from '../keeping-logger.ts'
import { EPOCH } from '../store.ts'
import { createManualClock } from '../time/manual-clock.ts'

/** An endpoint that is not created yet, of the tenant `desk`, changed by the given members. */
export function wantedEndpoint(parts: Partial<NewEndpoint> = {}): NewEndpoint {
  return {
    id: newId('ep', 0),
    tenant: 'desk',
    url: 'https://hooks.example/in',
    description: null,
    status: 'active',
    filter: {},
    headers: {},
    maxConcurrency: 8,
    rateLimit: null,
    order: 'none',
    start: encodeCursor({ epoch: EPOCH, sequence: 0, timeMs: 0 }),
    secrets: [{ wrapped: 'wrapped', untilMs: null }],
    ...parts,
  }
}

/** A node that follows that log until the test ends. */
export async function endpointNode(log: Log, clock = createManualClock()) {
  const { logger, lines } = keepingLogger()
  const endpoints = new Endpoints({ log, clock, logger })
  const stop = new AbortController()
  const running = endpoints.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  await until(() => endpoints.isLoaded)
  return { endpoints, clock, lines, stop }
}
