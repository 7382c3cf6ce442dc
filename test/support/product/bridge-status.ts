/** Asks a running bridge for its status. */
import type { Status } from '../../../src/api/routes/status.ts'
import type { BridgeProcess } from '../bridge-process.ts'
import { getJson } from '../http/api-client.ts'

/** What `GET /v1/status` of the bridge says. */
export function statusOf({ ready }: Pick<BridgeProcess, 'ready'>): Promise<Status> {
  return getJson<Status>(`${ready.http}/v1/status`)
}
