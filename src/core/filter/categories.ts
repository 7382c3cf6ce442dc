/**
 * Lists the category codes of announcements known today, for suggestions on typos and for Kafka topics that exist before
 * their first event. Other codes are accepted too.
 */

/** Codes of kind `FCA`: DTR 8 Annex 2, the source-only codes of the RNS feed, and the older ones that still occur. */
export const knownFcaCodes: readonly string[] = `
  SUS SRS REN NOT LIS NRA MSC MSCU QRF QRT ACQ AGM ACS CAR CON TAB DIS DRL GMS FR FEE FEO FER FUR IR
  IOD IOE LOI MER OFB OFF OLA ORE OTT OUP PNM PRL AGR ALL CNT JVE RAP REA RES RSP REP RAG ROI ROM RTE
  DCC RET SOA STR STC OFD SPC SPM SYR TEN TVR TST POS PGR UPD IRS MSCH ARI ALS BRC BLR CMC CAS DSH BOA
  DIV RC GEO HOL NAV PFU PDI PSP PFT RTT TAV TRS ITF MSCM CAN CIR COS RDN DOC NAR NOA NOG NOR ODP MSCL
  TSM EOD PME APM EXC SEN AIM AMO PAA CNR APP CRO FON STA SSD MMH POT FTS ISE NOV EFN RDS AIU DSP EGM
  NOE REG EMM IMS SAL IDE FCA01
`
  .trim()
  .split(/\s+/)

/** The eleven codes of the service's own categories (specification §2.5). */
export const knownNativeCodes: readonly string[] = 'AA BC CS CU DD DI HO ME RE TU XX'.split(' ')
