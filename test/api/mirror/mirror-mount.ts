/** Serves the bridge's `/v2` on a real socket, with nothing beside it. */
import { onTestFinished } from 'vitest'
import type { MirrorRoute } from '../../../src/api/mirror/route.ts'
import { bridgeMirror } from '../../../src/api/routes/mirror-router.ts'
import { createApp } from '../../../src/http/app.ts'
import type { Authenticate } from '../../../src/http/auth.ts'
import { SendBuffers } from '../../../src/http/bounds/send-buffers.ts'
import { listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

/** The base URL, ending in `/v2`, of a server that closes when the test ends. */
export async function openMount(routes: readonly MirrorRoute[], authenticate: Authenticate): Promise<string> {
  const { logger } = keepingLogger()
  const handler = bridgeMirror({ routes, authenticate, sendBuffers: new SendBuffers(), logger })
  const app = createApp({
    routes: [],
    mounts: [{ prefix: '/v2', handler }],
    authenticate,
    corsOrigins: [],
    logger,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  onTestFinished(() => listener.close(0))
  return `${listener.url}/v2`
}
