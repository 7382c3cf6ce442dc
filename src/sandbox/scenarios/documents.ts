/**
 * Defines scenarios about the documents that items link to.
 */
import { publications } from '../market/market-events.ts'
import { evenDrafts, plain, type Scenario } from '../market/scenario.ts'

/** Documents, by name. */
export const documentScenarios = {
  'late-documents': {
    ...plain,
    meaning: '20 items in two minutes; their documents answer 404 for three minutes each',
    documentsAfterMs: 180_000,
    firstDay: (market, day) =>
      publications(evenDrafts(market, day, { from: '10:00:02', to: '10:02:00', items: 20 })),
  },
} as const satisfies Record<string, Scenario>
