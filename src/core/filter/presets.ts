/** Lists the named filters that users need most, with their category codes and meanings (docs/use/filters.md). */

/** A named filter over FCA categories. */
export interface Preset {
  /** One sentence for the docs and for the error about a wrong name. */
  meaning: string
  /** FCA category codes. */
  fcaCategories: readonly string[]
  /** `only` keeps items with one of the codes; `without` keeps items with none of them. */
  keeps: 'only' | 'without'
}

/** Every preset. */
export const presetNames = ['no-routine', 'results', 'takeovers', 'trading-halts'] as const
export type PresetName = (typeof presetNames)[number]

/** Codes from the FCA list (DTR 8 Annex 2) and the source-only codes of the RNS feed. */
export const presets: Readonly<Record<PresetName, Preset>> = {
  'no-routine': {
    meaning:
      'Leaves out what is published by the hundred: voting rights, own-share transactions, holdings, director dealings, Takeover Panel forms, block listings and price monitoring.',
    fcaCategories: ['TVR', 'POS', 'HOL', 'DSH', 'RET', 'FEO', 'FER', 'DCC', 'FEE', 'BLR', 'PME', 'APM'],
    keeps: 'without',
  },
  results: {
    meaning: 'Financial results: final, half-year, first and third quarter, and annual reports.',
    fcaCategories: ['FR', 'IR', 'ACS', 'QRF', 'QRT'],
    keeps: 'only',
  },
  takeovers: {
    meaning:
      'The course of a bid: possible and firm offers, their updates, documents, rejection, lapse and end, schemes of arrangement, compulsory acquisition, and notices of the Panel and the competition authority.',
    fcaCategories: [
      'OFD',
      'OFB',
      'OFF',
      'OUP',
      'ODP',
      'ORE',
      'OTT',
      'OLA',
      'SOA',
      'CAS',
      'RTT',
      'TAB',
      'POT',
      'PNM',
      'MER',
    ],
    keeps: 'only',
  },
  'trading-halts': {
    meaning: 'Suspensions of a listing or of trading, statements about them, and restorations.',
    fcaCategories: ['SUS', 'SRS', 'REN', 'EXC'],
    keeps: 'only',
  },
}
