import { createMemoryLog } from '../../src/log/memory/log.ts'
import { describeLog } from './conformance.ts'

describeLog('memory', (seam) => createMemoryLog({ seam }))
