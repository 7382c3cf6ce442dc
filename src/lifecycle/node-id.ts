/** Names this process among the nodes of an installation. */
import { hostname } from 'node:os'

/** Host and process id, as `GET /v1/status` shows them of the leader: `host:1234`. */
export function nodeId(): string {
  return `${hostname()}:${process.pid}`
}
