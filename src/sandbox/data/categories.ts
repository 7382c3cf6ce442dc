/**
 * Lists the headline categories of the sandbox's invented market with their frequency, importance, group and headlines.
 * Frequencies are a modelling choice based on public counts; importance follows the FCA's list; groups are an editorial
 * choice. The list of all codes is `core/filter/categories.ts`.
 */

/** One category. */
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
  /** Headlines with placeholders, each equally likely. */
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

/**
 * Headlines of each category whose headline is not just its name. Placeholders: {name}, {other}, {month}, {year}, {n}
 * and {place}; 50 characters are kept.
 */
const headlines: Readonly<Record<string, readonly string[]>> = {
  PFU: ['Portfolio Update', 'Top Ten Holdings'],
  IOD: ['Issue of Debt', 'Notes due {year}'],
  PSP: ['Supplementary Prospectus'],
  STA: ['Pre-Stabilisation Notice'],
  RET: ['Form 8.3 - {other}'],
  FER: ['Form 8.5 (EPT/RI) - {other}'],
  FEO: ['Form 8.5 (EPT/NON-RI) {other}'],
  DCC: ['Form 8 (DD) - {other}'],
  FEE: ['Form 8 (OPD) {other}'],
  MSC: ['Notification of Major Contract Review', 'Notice to Shareholders'],
  STR: ['Statement re {place} Operations', 'Statement re Financing'],
  DOC: ['Doc re. Annual Report {year}', 'Doc re. Base Prospectus'],
  CIR: ['Circ re. Notice of General Meeting'],
  UPD: ['Operational Update', 'Strategy Update and {month} Outlook', '{place} Project Update'],
  TST: ['Trading Statement', '{month} Trading Update'],
  CNT: ['£{n}m Contract Award in {place}', 'Contract Extension'],
  DRL: ['{place} Drilling Results'],
  AGR: ['Supply Agreement with {other}'],
  ACQ: ['Acquisition of {place} Holdings', 'Bolt-on Acquisition'],
  DIS: ['Disposal of {place} Business'],
  FR: ['Final Results', 'Preliminary Results {year}'],
  IR: ['Half-year Report', 'Interim Results'],
  NRA: ['{name} at the {place} Investor Day', 'New Website for Shareholders'],
  NOR: ['Notice of Results', 'Notice of {month} Results'],
  ROM: ['Result of General Meeting'],
  APM: ['Second Price Monitoring Extn'],
  EXC: ['Restoration - {other}'],
  SEN: ['Admission to Trading - {other}'],
  AIM: ['AIM Admission - {other}'],
  AMO: ['AIM Notice - {other}'],
  DIV: ['Dividend Declaration', 'Interim Dividend'],
  BOA: ['Directorate Change', 'Appointment of Chair'],
  BLR: ['Block Listing Six Monthly Return'],
  JVE: ['Joint Venture in {place}'],
  OFB: ['Recommended Cash Offer for {other}'],
  EOD: ['End of Day Message'],
}

/** Every category of the market. */
export const marketCategories: readonly MarketCategory[] = [
  category('NAV', 'Net Asset Value(s)', 'medium', 'XX', 3000, 'fund'),
  category('PFU', 'Portfolio Update', 'medium', 'CU', 150, 'fund'),
  category('PFT', 'Publication of Final Terms', 'medium', 'CS', 600, 'company'),
  category('RC', 'FRN Variable Rate Fix', 'medium', 'CS', 250, 'company'),
  category('IOD', 'Issue of Debt', 'high', 'CS', 250, 'company'),
  category('PDI', 'Publication of a Prospectus', 'medium', 'CS', 100, 'company'),
  category('PSP', 'Publication of a Supplementary Prospectus', 'medium', 'CS', 100, 'company'),
  category('STA', 'Stabilisation Notice', null, 'CS', 50, 'company'),
  category('RET', 'Form 8.3', 'high', 'HO', 450, 'holder'),
  category('FER', 'Form 8.5 (EPT/RI)', 'high', 'HO', 200, 'holder'),
  category('FEO', 'Form 8.5 (EPT/NON-RI)', 'high', 'HO', 100, 'holder'),
  category('DCC', 'Form 8 (DD)', 'high', 'HO', 90, 'holder'),
  category('FEE', 'Form 8 (OPD)', 'high', 'HO', 60, 'holder'),
  category('POS', 'Transaction in Own Shares', 'high', 'CS', 900, 'company'),
  category('HOL', 'Holding(s) in Company', 'medium', 'HO', 700, 'company'),
  category('MSC', 'Miscellaneous', 'ultra', 'XX', 200, 'company'),
  category('STR', 'Statement re (free text)', 'high', 'XX', 150, 'company'),
  category('DOC', 'Doc re. (document title)', 'low', 'XX', 200, 'company'),
  category('CIR', 'Circ re. (document title)', 'low', 'XX', 150, 'company'),
  category('UPD', 'Strategy/Company/Operations Update', 'high', 'CU', 250, 'company'),
  category('TST', 'Trading Statement', 'high', 'TU', 90, 'company'),
  category('CNT', 'Contract', 'high', 'CU', 70, 'company'),
  category('DRL', 'Drilling/Production Report', 'high', 'CU', 60, 'company'),
  category('AGR', 'Agreement', 'high', 'AA', 40, 'company'),
  category('ACQ', 'Acquisition', 'high', 'AA', 60, 'company'),
  category('DIS', 'Disposal', 'high', 'DI', 30, 'company'),
  category('DSH', 'Director/PDMR Shareholding', 'medium', 'DD', 350, 'company'),
  category('FR', 'Final Results', 'high', 'RE', 110, 'company'),
  category('IR', 'Half-year Report', 'high', 'RE', 100, 'company'),
  category('ACS', 'Annual Financial Report', 'high', 'RE', 60, 'company'),
  category('QRF', '1st Quarter Results', 'high', 'RE', 15, 'company'),
  category('QRT', '3rd Quarter Results', 'high', 'RE', 15, 'company'),
  category('NRA', 'Non Regulatory Announcement', null, 'XX', 300, 'company'),
  category('NOA', 'Notice of AGM', 'low', 'ME', 50, 'company'),
  category('RAG', 'Result of AGM', 'high', 'ME', 50, 'company'),
  category('NOR', 'Notice of Results', 'low', 'XX', 50, 'company'),
  category('ROM', 'Result of Meeting', 'high', 'ME', 50, 'company'),
  category('PME', 'Price Monitoring Extension', null, 'XX', 60, 'operator'),
  category('APM', 'Second Price Monitoring Extension', null, 'XX', 40, 'operator'),
  category('EXC', 'Exchange Suspension/Restoration', null, 'XX', 30, 'operator'),
  category('SEN', 'Exchange Notice', null, 'XX', 30, 'operator'),
  category('AIM', 'AIM Admission Update', null, 'XX', 20, 'operator'),
  category('AMO', 'AIM Notice', null, 'XX', 20, 'operator'),
  category('DIV', 'Dividend Declaration', 'medium', 'CS', 150, 'company'),
  category('TVR', 'Total Voting Rights', 'high', 'CS', 150, 'company'),
  category('BOA', 'Directorate change', 'medium', 'BC', 100, 'company'),
  category('BLR', 'Block listing Interim Review', 'medium', 'CS', 20, 'company'),
  category('ALS', 'Additional Listing', 'medium', 'CS', 20, 'company'),
  category('JVE', 'Joint Venture', 'high', 'AA', 5, 'company'),
  category('OFB', 'Offer by (offeror)', 'high', 'AA', 5, 'company'),
]

/** The end-of-day message; not one of the market's usual announcements. */
export const endOfDayCategory = category('EOD', 'End of Day', null, 'XX', 0, 'operator')

function category(
  code: string,
  name: string,
  importance: MarketCategory['importance'],
  native: string,
  weight: number,
  by: MarketCategory['by'],
): MarketCategory {
  return { code, name, importance, native, weight, by, headlines: headlines[code] ?? [name] }
}
