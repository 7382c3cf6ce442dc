/**
 * Lists the words from which names of companies and funds, and headlines, are made up.
 */

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/** First words of company names. */
export const companyWords = words(`
  Aldgate Ardmore Ashdown Barrow Beckfoot Birkdale Blackmere Bowland Bramley Brackenridge Calder Carrick Chiltern
  Coldstream Corvedale Cragside Darnley Dovedale Eastmoor Ellerby Fairholm Farnworth Fenwick Garrow Glaisdale Glenmoor
  Greywell Halden Harrow Hartside Hawkstone Hazelden Heathcote Holmbury Ingleby Inverlochy Kelbrook Kestrel Kilbride
  Kirkdale Langholm Larkfield Lindale Lochmaben Lowther Marsden Merrow Milburn Moorfoot Netherby Northgate Oakhanger
  Orrest Pendle Penhallow Quarrydale Ravenglass Redmire Ribblehead Rosedale Rothley Saddleworth Scarfell Selwyn
  Silverdale Skelwith Staveley Stonecroft Swinside Tarnbrook Thornthwaite Tideswell Ulverdale Wansbeck Wetherlam
  Whinfell Winnats Wolds Wray Yewdale
`)

/** Second words of company names: what the company does. */
export const companyTrades = words(`
  Aerospace Analytics Bioscience Brands Breweries Capital Care Chemicals Copper Digital Energy Engineering Estates
  Foods Gold Homes Hospitality Housing Infrastructure Insurance Leisure Lithium Logistics Marine Materials Media Metals
  Mining Networks Oil Optics Packaging Petroleum Pharma Power Properties Renewables Resources Retail Robotics Security
  Semiconductors Software Solar Steel Systems Telecom Therapeutics Transport Utilities Ventures Water
`)

/** Legal forms, repeated by frequency. */
export const companyEndings = ['PLC', 'PLC', 'PLC', 'Group PLC', 'Holdings PLC', 'Limited', 'Inc.'] as const

/** Issuers of funds. */
export const fundHouses = [
  'Aldwych Global',
  'Brightwater',
  'Cotswold Index',
  'Eventide',
  'Fulmar',
  'Highmoor',
  'Meridian Beta',
  'Quayside',
  'Sovereign Tracker',
  'Tern Income',
] as const

/** What a fund invests in: the region. */
export const fundRegions = words('Asia China Emerging Euro Europe Global India Japan Nordic UK US World')

/** What a fund invests in: the style. */
export const fundStrategies = [
  'Aggregate Bond',
  'Corporate Bond',
  'Dividend',
  'Equity',
  'ESG Leaders',
  'Gilts 0-5yr',
  'Growth',
  'Low Volatility',
  'Quality',
  'Small Cap',
  'Value',
] as const

/** Banks and managers that report holdings and dealings. */
export const holderNames = [
  'Calder Asset Management Ltd',
  'Fenwick Securities Plc',
  'Garrow Capital Partners LLP',
  'Hartside Investment Bank',
  'Lowther Fund Managers Ltd',
  'Merrow Markets International',
  'Pendle Wealth Limited',
  'Rothley Global Advisors',
  'Selwyn Brokers Ltd',
  'Wansbeck Prime Services',
] as const

/** Places of projects and meetings. */
export const places = words(`
  Aberdeen Alberta Atacama Bergen Cardiff Cork Darwin Dundee Galway Kalgoorlie Katanga Lagos Leeds Limerick Lusaka
  Maputo Murchison Oslo Perth Quito Sonora Sumatra Tarkwa Tromso Ulster Wexford Yukon Zagreb
`)

/** Months, for headlines about a period. */
export const months = words(
  'January February March April May June July August September October November December',
)
