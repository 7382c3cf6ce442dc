import { createMemoryLog } from '../../src/log/memory/log.ts'
import { describeLog } from './conformance.ts'
import { describeJournals } from './journals.ts'
import { describeLanes } from './lanes.ts'
import { describeRetention } from './retention.ts'

describeLog('memory', (seam) => createMemoryLog({ seam }))
describeLanes('memory', (seam) => createMemoryLog({ seam }))
describeJournals('memory', (seam) => createMemoryLog({ seam }))
describeRetention('memory', (clock) => createMemoryLog({ clock }))
