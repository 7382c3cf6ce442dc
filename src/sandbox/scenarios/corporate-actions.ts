/**
 * Defines a scenario in which issuers change names and identifiers while they publish. It exercises the filter option
 * `match`, which sets how companies are recognised.
 */
import { seededChance } from '../../core/chance.ts'
import { type FreshNames, freshNames, reissued, renamed } from '../market/issuer-history.ts'
import type { Issuer, Issuers } from '../market/issuers.ts'
import { recategorise } from '../market/item-template.ts'
import { londonMomentMs } from '../market/london.ts'
import { evenly, plain, type Scenario } from '../market/scenario.ts'

/** Company announcements, and forms about other companies. */
const codes = ['UPD', 'TST', 'BOA', 'ACQ', 'HOL', 'RET', 'FER']
/** Every fifth item names no instrument. */
const UNTAGGED_EVERY = 5

/** Corporate actions, by name. */
export const corporateActionScenarios = {
  'corporate-actions': {
    ...plain,
    meaning:
      '90 items of seven companies in three minutes, six of which change names, symbols or ISINs meanwhile',
    backlog: 60,
    cast: (issuers, { seed, day }) => {
      const fresh = freshNames(seededChance(seed ^ 0x2c1b3c6d), issuers)
      return { ...issuers, companies: changingCompanies(issuers, day, fresh) }
    },
    firstDay: evenly('10:00:02', '10:03:00', 90, (templates, { issuers }) => {
      recategorise(templates, issuers, codes)
      templates.forEach((template, index) => {
        if (index % UNTAGGED_EVERY === UNTAGGED_EVERY - 1) template.variant = 'no-instrument'
      })
    }),
  },
} as const satisfies Record<string, Scenario>

/**
 * Returns seven companies, most popular first: one renamed, one with a new ISIN, one renamed and then with a new ISIN,
 * one with two instruments and new ISINs, two without LEI (renamed; with a new ISIN), one that never changes.
 */
function changingCompanies({ companies }: Issuers, day: string, fresh: FreshNames): Issuer[] {
  const listed = companies.filter(({ instruments }) => instruments.every(({ symbol }) => symbol !== null))
  const withLei = listed.filter(({ lei, instruments }) => lei !== null && instruments.length === 1)
  const withoutLei = listed.filter(({ lei, instruments }) => lei === null && instruments.length === 1)
  const twins = listed.filter(({ lei, instruments }) => lei !== null && instruments.length === 2)
  const first = londonMomentMs(day, '10:01:00')
  const second = londonMomentMs(day, '10:02:00')
  return [
    ...withLei.slice(0, 1).map((company) => renamed(company, first, fresh)),
    ...withLei.slice(1, 2).map((company) => reissued(company, first, fresh)),
    ...withLei.slice(2, 3).map((company) => reissued(renamed(company, first, fresh), second, fresh)),
    ...twins.slice(0, 1).map((company) => reissued(company, second, fresh)),
    ...withoutLei.slice(0, 1).map((company) => renamed(company, first, fresh)),
    ...withoutLei.slice(1, 2).map((company) => reissued(company, first, fresh)),
    ...withLei.slice(3, 4),
  ]
}
