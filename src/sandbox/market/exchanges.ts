/**
 * Converts the exchange registry in `data/iso10383.ts` into the JSON of specification §2.9 to §2.11.
 */

import type { ReferenceStore } from '../../api/mirror/reference-routes.ts'
import type { StoredExchange } from '../../archive/exchanges.ts'
import { EXCHANGES_PATH } from '../../core/upstream-paths.ts'
import { registryLines } from '../data/iso10383.ts'

/** Creates a store of all exchanges in `data/iso10383.ts`. */
export function createExchanges(): ReferenceStore {
  const exchanges = registryLines
    .split(/\n(?=\S)/)
    .filter((record) => record.trim() !== '')
    .map(exchangeOf)
  const byMic = new Map(exchanges.map((exchange) => [exchange.mic, exchange]))
  return { exchanges: () => exchanges, exchange: (mic) => byMic.get(mic) ?? null }
}

/** Parses one exchange: its line and those of its segments. */
function exchangeOf(record: string): StoredExchange {
  const [line = '', ...segmentLines] = record.trim().split('\n')
  const [mic = '', ...facts] = line.split('|')
  const known = facts.map((fact) => (fact === '' ? null : fact))
  const [
    name,
    abbreviation,
    country,
    city,
    status,
    website,
    creationDate,
    lastUpdateDate,
    expiryDate,
    comments,
  ] = known
  const listed = { mic, name, country, city, status, comments }
  const detail = {
    ...{ mic, name, abbreviation, country, city, status, website },
    ...{ creationDate, lastUpdateDate, expiryDate, comments },
    segments: segmentLines.map(segmentOf),
    _links: { self: `/v2${EXCHANGES_PATH}/${mic}` },
  }
  return { mic, listed: JSON.stringify(listed), detail: JSON.stringify(detail) }
}

function segmentOf(line: string): { mic: string; name: string | null; status: string | null } {
  const [mic = '', name = '', status = ''] = line.trim().split('|')
  return { mic, name: name === '' ? null : name, status: status === '' ? null : status }
}
