/**
 * Lists the headline categories of the synthetic market with their frequency, importance, group and headlines.
 * Frequencies are a modelling choice over public counts; importance follows the FCA's list; groups are an editorial
 * choice. The list of all codes is `core/filter/categories.ts`.
 */

/** One category. Headlines may use {name}, {other}, {month}, {year}, {n} and {place}; 50 characters are kept. */
export interface MarketCategory {
  code: string
  name: string
  importance: 'ultra' | 'high' | 'medium' | 'low' | null
  /** Code of the service's own group. */
  native: string
  /** Frequency: items of this category among 10,100. */
  weight: number
  /** Who publishes it: funds, companies, holders reporting about companies, or the market operator. */
  by: 'fund' | 'company' | 'holder' | 'operator'
  headlines: readonly string[]
}

/** Names of the service's own groups, as the sandbox spells them. */
export const nativeNames: Readonly<Record<string, string>> = Object.freeze({
  AA: 'Acquisitions and alliances',
  BC: 'Board changes',
  CS: 'Capital structure',
  CU: 'Corporate updates',
  DD: 'Director dealings',
  DI: 'Disposals',
  HO: 'Holdings',
  ME: 'Meetings',
  RE: 'Results',
  TU: 'Trading updates',
  XX: 'Miscellaneous',
})

/** Codes that companies mostly publish at 07:00. */
export const morningCodes: ReadonlySet<string> = new Set(
  'FR IR ACS QRF QRT UPD TST CNT DRL AGR ACQ DIS BOA POS NOR DIV'.split(' '),
)

/** Every category of the market. */
export const marketCategories: readonly MarketCategory[] = [
  category('NAV', 'Net Asset Value(s)', 'medium', 'XX', 3000, 'fund', 'Net Asset Value(s)'),
  category('PFU', 'Portfolio Update', 'medium', 'CU', 150, 'fund', 'Portfolio Update', 'Top Ten Holdings'),
  category('PFT', 'Publication of Final Terms', 'medium', 'CS', 600, 'company', 'Publication of Final Terms'),
  category('RC', 'FRN Variable Rate Fix', 'medium', 'CS', 250, 'company', 'FRN Variable Rate Fix'),
  category('IOD', 'Issue of Debt', 'high', 'CS', 250, 'company', 'Issue of Debt', 'Notes due {year}'),
  category(
    'PDI',
    'Publication of a Prospectus',
    'medium',
    'CS',
    100,
    'company',
    'Publication of a Prospectus',
  ),
  category(
    'PSP',
    'Publication of a Supplementary Prospectus',
    'medium',
    'CS',
    100,
    'company',
    'Supplementary Prospectus',
  ),
  category('STA', 'Stabilisation Notice', null, 'CS', 50, 'company', 'Pre-Stabilisation Notice'),
  category('RET', 'Form 8.3', 'high', 'HO', 450, 'holder', 'Form 8.3 - {other}'),
  category('FER', 'Form 8.5 (EPT/RI)', 'high', 'HO', 200, 'holder', 'Form 8.5 (EPT/RI) - {other}'),
  category('FEO', 'Form 8.5 (EPT/NON-RI)', 'high', 'HO', 100, 'holder', 'Form 8.5 (EPT/NON-RI) {other}'),
  category('DCC', 'Form 8 (DD)', 'high', 'HO', 90, 'holder', 'Form 8 (DD) - {other}'),
  category('FEE', 'Form 8 (OPD)', 'high', 'HO', 60, 'holder', 'Form 8 (OPD) {other}'),
  category('POS', 'Transaction in Own Shares', 'high', 'CS', 900, 'company', 'Transaction in Own Shares'),
  category('HOL', 'Holding(s) in Company', 'medium', 'HO', 700, 'company', 'Holding(s) in Company'),
  category(
    'MSC',
    'Miscellaneous',
    'ultra',
    'XX',
    200,
    'company',
    'Notification of Major Contract Review',
    'Notice to Shareholders',
  ),
  category(
    'STR',
    'Statement re (free text)',
    'high',
    'XX',
    150,
    'company',
    'Statement re {place} Operations',
    'Statement re Financing',
  ),
  category(
    'DOC',
    'Doc re. (document title)',
    'low',
    'XX',
    200,
    'company',
    'Doc re. Annual Report {year}',
    'Doc re. Base Prospectus',
  ),
  category(
    'CIR',
    'Circ re. (document title)',
    'low',
    'XX',
    150,
    'company',
    'Circ re. Notice of General Meeting',
  ),
  category(
    'UPD',
    'Strategy/Company/Operations Update',
    'high',
    'CU',
    250,
    'company',
    'Operational Update',
    'Strategy Update and {month} Outlook',
    '{place} Project Update',
  ),
  category(
    'TST',
    'Trading Statement',
    'high',
    'TU',
    90,
    'company',
    'Trading Statement',
    '{month} Trading Update',
  ),
  category(
    'CNT',
    'Contract',
    'high',
    'CU',
    70,
    'company',
    '£{n}m Contract Award in {place}',
    'Contract Extension',
  ),
  category('DRL', 'Drilling/Production Report', 'high', 'CU', 60, 'company', '{place} Drilling Results'),
  category('AGR', 'Agreement', 'high', 'AA', 40, 'company', 'Supply Agreement with {other}'),
  category(
    'ACQ',
    'Acquisition',
    'high',
    'AA',
    60,
    'company',
    'Acquisition of {place} Holdings',
    'Bolt-on Acquisition',
  ),
  category('DIS', 'Disposal', 'high', 'DI', 30, 'company', 'Disposal of {place} Business'),
  category('DSH', 'Director/PDMR Shareholding', 'medium', 'DD', 350, 'company', 'Director/PDMR Shareholding'),
  category(
    'FR',
    'Final Results',
    'high',
    'RE',
    110,
    'company',
    'Final Results',
    'Preliminary Results {year}',
  ),
  category('IR', 'Half-year Report', 'high', 'RE', 100, 'company', 'Half-year Report', 'Interim Results'),
  category('ACS', 'Annual Financial Report', 'high', 'RE', 60, 'company', 'Annual Financial Report'),
  category('QRF', '1st Quarter Results', 'high', 'RE', 15, 'company', '1st Quarter Results'),
  category('QRT', '3rd Quarter Results', 'high', 'RE', 15, 'company', '3rd Quarter Results'),
  category(
    'NRA',
    'Non Regulatory Announcement',
    null,
    'XX',
    300,
    'company',
    '{name} at the {place} Investor Day',
    'New Website for Shareholders',
  ),
  category('NOA', 'Notice of AGM', 'low', 'ME', 50, 'company', 'Notice of AGM'),
  category('RAG', 'Result of AGM', 'high', 'ME', 50, 'company', 'Result of AGM'),
  category(
    'NOR',
    'Notice of Results',
    'low',
    'XX',
    50,
    'company',
    'Notice of Results',
    'Notice of {month} Results',
  ),
  category('ROM', 'Result of Meeting', 'high', 'ME', 50, 'company', 'Result of General Meeting'),
  category('PME', 'Price Monitoring Extension', null, 'XX', 60, 'operator', 'Price Monitoring Extension'),
  category(
    'APM',
    'Second Price Monitoring Extension',
    null,
    'XX',
    40,
    'operator',
    'Second Price Monitoring Extn',
  ),
  category('EXC', 'Exchange Suspension/Restoration', null, 'XX', 30, 'operator', 'Restoration - {other}'),
  category('SEN', 'Exchange Notice', null, 'XX', 30, 'operator', 'Admission to Trading - {other}'),
  category('AIM', 'AIM Admission Update', null, 'XX', 20, 'operator', 'AIM Admission - {other}'),
  category('AMO', 'AIM Notice', null, 'XX', 20, 'operator', 'AIM Notice - {other}'),
  category(
    'DIV',
    'Dividend Declaration',
    'medium',
    'CS',
    150,
    'company',
    'Dividend Declaration',
    'Interim Dividend',
  ),
  category('TVR', 'Total Voting Rights', 'high', 'CS', 150, 'company', 'Total Voting Rights'),
  category(
    'BOA',
    'Directorate change',
    'medium',
    'BC',
    100,
    'company',
    'Directorate Change',
    'Appointment of Chair',
  ),
  category(
    'BLR',
    'Block listing Interim Review',
    'medium',
    'CS',
    20,
    'company',
    'Block Listing Six Monthly Return',
  ),
  category('ALS', 'Additional Listing', 'medium', 'CS', 20, 'company', 'Additional Listing'),
  category('JVE', 'Joint Venture', 'high', 'AA', 5, 'company', 'Joint Venture in {place}'),
  category('OFB', 'Offer by (offeror)', 'high', 'AA', 5, 'company', 'Recommended Cash Offer for {other}'),
]

/** The end-of-day message; not one of the market's usual announcements. */
export const endOfDayCategory: MarketCategory = category(
  'EOD',
  'End of Day',
  null,
  'XX',
  0,
  'operator',
  'End of Day Message',
)

function category(
  code: string,
  name: string,
  importance: MarketCategory['importance'],
  native: string,
  weight: number,
  by: MarketCategory['by'],
  ...headlines: string[]
): MarketCategory {
  return { code, name, importance, native, weight, by, headlines }
}
