import { createMemoryLog } from '../../src/log-memory/log.ts'
import { describeLog } from '../log/conformance.ts'
import { describeJournals } from '../log/journals.ts'
import { describeRetention } from '../log/retention.ts'
import { describeShards } from '../log/shards.ts'

describeLog('memory', (faultHooks) => createMemoryLog({ faultHooks }))
describeShards('memory', (faultHooks) => createMemoryLog({ faultHooks }))
describeJournals('memory', (faultHooks) => createMemoryLog({ faultHooks }))
describeRetention('memory', (clock) => createMemoryLog({ clock }))
