/**
 * Runs as a worker process of the campaign: plays each world that it receives, one at a time, and sends back the
 * result.
 */
import { createMetrics } from '../../src/obs/metrics.ts'
import { playWorld } from '../support/worlds/play-world.ts'
import type { WorldCase } from '../support/worlds/world-cases.ts'
import { answerCases } from './workers.ts'

const metrics = createMetrics({ version: 'campaign' })

answerCases((worldCase: WorldCase) => playWorld(worldCase, metrics))
