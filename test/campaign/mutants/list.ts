/** Lists every mutant that `npm run campaign -- --mutants` tries. `list.test.ts` keeps it true to the source. */
import { accessMutants } from './access.ts'
import { archiveMutants } from './archive.ts'
import { governorMutants } from './governor.ts'
import { ingestMutants } from './ingest.ts'
import { logMutants } from './log.ts'
import type { Mutant } from './mutant.ts'
import { webhookMutants } from './webhooks.ts'

/** All mutants, by area. */
export const mutants: readonly Mutant[] = [
  ...ingestMutants,
  ...governorMutants,
  ...logMutants,
  ...archiveMutants,
  ...webhookMutants,
  ...accessMutants,
]
