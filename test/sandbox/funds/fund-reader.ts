/** Reads the fund paths of a sandbox as a client would, page by page. */
import type { Amount } from '../../../src/sandbox/funds/amounts.ts'
import type { issuerJson } from '../../../src/sandbox/funds/announcement.ts'
import { openSandbox, type TestSandbox } from '../sandbox-client.ts'

export interface FundRecord {
  issuer: ReturnType<typeof issuerJson>
  announcement: { guid: string; timestamp: string }
  asOf?: string
  date?: string
  declarationDate?: string
  navPerShare?: { cumIncome: Amount; exIncome?: Amount }
  price?: Amount
  amount?: Amount
  volume?: number
  period?: { from: string; to: string }
}

export interface FundPage {
  data: FundRecord[]
  meta: {
    paging: { pageTotal: number; itemTotal: number; latestCursor: string; hasMore: boolean; count: number }
  }
  warnings?: string[]
}

export interface FundReader extends TestSandbox {
  /** A list's page, which must be a 200. */
  page: (path: string) => Promise<FundPage>
  /** Every record of a list by page number. `between` runs after each page. */
  walk: (path: string, pageSize: number, between?: () => void) => Promise<FundRecord[]>
  /** `data` of a single, or null for a 404. */
  single: (path: string) => Promise<unknown>
}

/** A sandbox whose plan has funds. */
export async function openFunds(options: Parameters<typeof openSandbox>[0] = {}): Promise<FundReader> {
  const opened = await openSandbox({ plan: 'ultimate', backlog: 0, ...options })
  const page = async (path: string): Promise<FundPage> => {
    const { status, body } = await opened.get(path)
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
    return body as unknown as FundPage
  }
  return {
    ...opened,
    page,
    async walk(path, pageSize, between = () => {}) {
      const records: FundRecord[] = []
      const joint = path.includes('?') ? '&' : '?'
      for (let pageNumber = 1, pageTotal = 1; pageNumber <= pageTotal; pageNumber++) {
        const { data, meta } = await page(`${path}${joint}pageSize=${pageSize}&pageNumber=${pageNumber}`)
        records.push(...data)
        pageTotal = meta.paging.pageTotal
        between()
      }
      return records
    },
    async single(path) {
      const { status, body } = await opened.get(path)
      if (status === 404) return null
      if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
      return body.data
    },
  }
}

/** ISIN of a record. */
export function isinOf(record: FundRecord): string {
  return record.issuer.instrument.isin
}
