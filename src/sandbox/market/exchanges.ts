/**
 * Converts the stock exchanges in `data/iso10383.ts` into the JSON of the upstream's specification (§2.9 to §2.11).
 */
import type { ReferenceStore } from '../../api/mirror/reference-routes.ts'
import { EXCHANGES_PATH } from '../../core/upstream-paths.ts'
import { registryLines } from '../data/iso10383.ts'

/** Creates a store of all exchanges in `data/iso10383.ts`. */
export function createExchanges(): ReferenceStore {
  const exchanges = registryLines
    .split(/\n(?=\S)/)
    .filter((record) => record.trim() !== '')
    .map(exchangeOf)
  const byMic = new Map(exchanges.map((exchange) => [exchange.mic, exchange]))
  const list = exchanges.map(({ mic, listed }) => ({ mic, text: listed }))
  return { list: () => list, detail: (mic) => byMic.get(mic)?.detail ?? null }
}

/** Members of an exchange after its MIC, in the order of the registry's fields. */
const members = [
  ...['name', 'abbreviation', 'country', 'city', 'status', 'website'],
  ...['creationDate', 'lastUpdateDate', 'expiryDate', 'comments'],
]

/** Parses one exchange, its line and those of its segments, to the texts of its entry in the list and of its detail. */
function exchangeOf(record: string): { mic: string; listed: string; detail: string } {
  const [line = '', ...segmentLines] = record.trim().split('\n')
  const [mic = '', ...texts] = line.split('|')
  const facts = Object.fromEntries(members.map((member, index) => [member, texts[index] || null]))
  const { name, country, city, status, comments } = facts
  const listed = { mic, name, country, city, status, comments }
  const _links = { self: `/v2${EXCHANGES_PATH}/${mic}` }
  const detail = { mic, ...facts, segments: segmentLines.map(segmentOf), _links }
  return { mic, listed: JSON.stringify(listed), detail: JSON.stringify(detail) }
}

function segmentOf(line: string): { mic: string; name: string | null; status: string | null } {
  const [mic = '', name, status] = line.trim().split('|')
  return { mic, name: name || null, status: status || null }
}
