/**
 * Defines scenarios about the documents that items link to.
 */
import { evenly, plain, type Scenario } from '../market/scenario.ts'

/** Documents, by name. */
export const documentScenarios = {
  'late-documents': {
    ...plain,
    meaning: '20 items in two minutes; their documents answer 404 for three minutes each',
    documentsAfterMs: 180_000,
    firstDay: evenly('10:00:02', '10:02:00', 20),
  },
} as const satisfies Record<string, Scenario>
