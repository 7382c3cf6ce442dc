/** The page of the console reads answers by types of its own, without the bridge's code: they must fit what the bridge sends. */
import { expect, test } from 'vitest'
import type { z } from 'zod'
import type { NodesPage } from '../../src/api/operations/nodes-route.ts'
import type { meSchema } from '../../src/api/routes/me-route.ts'
import type { Status } from '../../src/api/routes/status.ts'
import type { MeAnswer, NodesAnswer, StatusAnswer } from '../../src/console/page/shell/answers.ts'

/** `true` where every answer of the bridge is one that the page expects. The compiler decides it. */
type Fits<Sent, Read> = Sent extends Read ? true : false

test('what the bridge sends is what the page reads', () => {
  const status: Fits<Status, StatusAnswer> = true
  const me: Fits<z.infer<typeof meSchema>, Omit<MeAnswer, 'session'>> = true
  const nodes: Fits<NodesPage, NodesAnswer> = true
  expect([status, me, nodes]).toEqual([true, true, true])
})
