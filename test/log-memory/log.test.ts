import { createMemoryLog } from '../../src/log-memory/log.ts'
import { describeLog } from '../log/conformance.ts'
import { describeJournals } from '../log/journals.ts'
import { describeRetention } from '../log/retention.ts'
import { describeShards } from '../log/shards.ts'

describeLog('memory', (seam) => createMemoryLog({ seam }))
describeShards('memory', (seam) => createMemoryLog({ seam }))
describeJournals('memory', (seam) => createMemoryLog({ seam }))
describeRetention('memory', (clock) => createMemoryLog({ clock }))
