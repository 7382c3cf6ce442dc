/**
 * Lists every sandbox scenario by name and finds one by its name.
 */
import { didYouMean } from '../core/near.ts'
import { BridgeError } from '../errors.ts'
import type { Scenario } from './market/scenario.ts'
import { calendarScenarios } from './scenarios/calendar.ts'
import { corporateActionScenarios } from './scenarios/corporate-actions.ts'
import { oddItemScenarios } from './scenarios/odd-items.ts'
import { outageScenarios } from './scenarios/outages.ts'
import { revisionScenarios } from './scenarios/revisions.ts'
import { rushScenarios } from './scenarios/rushes.ts'
import { usualScenarios } from './scenarios/usual.ts'

/** Every scenario by its name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  ...usualScenarios,
  ...rushScenarios,
  ...calendarScenarios,
  ...revisionScenarios,
  ...oddItemScenarios,
  ...outageScenarios,
  ...corporateActionScenarios,
}

/**
 * Finds the scenario with that name.
 * @throws BridgeError `usage` with the closest name, for an unknown name
 */
export function findScenario(name: string): Scenario {
  const scenario = Object.hasOwn(scenarios, name) ? scenarios[name] : undefined
  if (scenario !== undefined) return scenario
  const near = didYouMean(name, Object.keys(scenarios))
  throw new BridgeError('usage', `there is no scenario "${name}"${near}`, {
    hint: 'bridge sandbox --list shows every scenario.',
  })
}
