/** Defines and parses the rows of the log's table `nodes`, in which each process that shares the log says what it is. */
import { z } from 'zod'

/** The table of the log that holds them, by node id. */
export const NODES_TABLE = 'nodes'

const nodeReport = z.object({
  version: z.string(),
  roles: z.array(z.string()),
  /** When the process was started, ms since 1970. */
  startedMs: z.number(),
  /** How far its copy of the log is, and how far behind the log. */
  sequence: z.number(),
  lagEvents: z.number(),
  lagMs: z.number(),
  /** How much of the log its copy has, from 0 to 1. */
  filled: z.number(),
  /** When the newest events became visible on it; absent where none did lately, and from older builds. */
  applied: z
    .object({
      epoch: z.string(),
      after: z.number(),
      points: z.array(z.tuple([z.number(), z.number()])),
    })
    .optional()
    .catch(undefined),
})
const nodeRow = nodeReport.extend({
  /** When it was written, by the node's clock, ms since 1970. */
  atMs: z.number(),
  /** The node wrote it as its last one. */
  isStopped: z.boolean(),
})

/** What a node says of itself. */
export type NodeReport = z.infer<typeof nodeReport>

/** The same as it is stored. */
export type NodeRow = z.infer<typeof nodeRow>

/** The row in a value of the table; null where it is none. */
export function readNodeRow(value: unknown): NodeRow | null {
  return nodeRow.safeParse(value).data ?? null
}
