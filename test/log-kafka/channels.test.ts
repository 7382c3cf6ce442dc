/** Compares the records written to the topics with the AsyncAPI document. */
import { expect, test } from 'vitest'
import { readDisclosure } from '../../src/core/disclosure.ts'
import { disclosureEvent, gapEvent, gapTypes, isGap } from '../../src/core/event.ts'
import { gapOf } from '../../src/ingest/machine/publish.ts'
import { eventRecord, type NewRecord, rejectedRecord } from '../../src/log-kafka/client/records.ts'
import { claimed, followed, START_MS, sampleGap, sampleRejected } from '../log/samples.ts'
import { productDocument } from '../support/house/asyncapi-document.ts'
import { type Given, messageJudge } from '../support/house/asyncapi-messages.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const document = productDocument()
const misfits = messageJudge(document)

/** An item with every member of the document, and an unknown one. */
const item = {
  rnsId: 'RNS1234A',
  guid: 'urn:newsml:example:1',
  timestamp: '2026-01-06T07:00:00Z',
  source: 'RNS',
  version: 1,
  headline: 'Final Results',
  issuer: { name: 'Alpha', lei: '2138W222ETNACGDLHQ90', instrument: { isin: 'GB00BH4HKS39' }, odd: 1 },
  related: [{ name: 'Beta' }],
  category: [{ kind: 'FCA', code: 'FR', name: 'Final Results', importance: 'unheard of' }],
  publication: [{ mime: 'text/html', url: 'https://documents.example/1' }],
  replaces: { guid: 'urn:newsml:example:0', version: 1 },
  addedByUpstream: { any: [1] },
}

/** The record as parsed JSON. */
function given({ key, value, headers }: NewRecord): Given {
  return { key, headers, payload: JSON.parse(String(value)) }
}

/** The events that a log returns: first and later revisions, and a gap in each of its states. */
async function committedEvents() {
  const read = readDisclosure(item)
  if (!read.ok) throw new Error(read.reason)
  const held = { data: JSON.stringify(item), recordedMs: START_MS }
  const log = createMemoryLog()
  const writer = await claimed(log)
  await writer.commit({
    events: [
      disclosureEvent(read.disclosure, { ...held, revision: 1, late: false }),
      disclosureEvent(read.disclosure, { ...held, revision: 2, late: true }),
      ...gapTypes.map((type) =>
        gapEvent(gapOf(sampleGap('g')), type, { timeMs: START_MS, recordedMs: START_MS }),
      ),
    ],
  })
  return followed(log, 0, 5)
}

test('the record of every event matches the schema of `all` and of its own topic, and no other', async () => {
  const events = await committedEvents()
  expect(new Set(events.map(({ type }) => type)).size).toBe(5)
  for (const event of events) {
    const [name, topic, other] = isGap(event.type) ? ['gap', 'gaps', 'fca'] : ['disclosure', 'fca', 'gaps']
    const record = given(eventRecord(event, event.sequence))
    for (const channel of ['kafka.all', `kafka.${topic}`])
      expect([channel, misfits(channel, name, record)]).toEqual([channel, []])
    expect(misfits(`kafka.${other}`, name === 'gap' ? 'disclosure' : 'gap', record)).not.toEqual([])
  }
})

test('the record of a rejected item matches its schema, with and without a guid', () => {
  for (const guid of [null, 'urn:newsml:example:1']) {
    const { key, value, headers } = rejectedRecord({ ...sampleRejected(1), guid })
    expect(misfits('kafka.rejected', 'rejected', { key, headers, payload: value })).toEqual([])
  }
})

test('a record with a missing or unknown header does not match', async () => {
  const [event] = await committedEvents()
  if (event === undefined) throw new Error('nothing was committed')
  const { headers, ...record } = given(eventRecord(event, 1))
  for (const name of Object.keys(headers as object).filter((own) => own !== 'ce_replacesid')) {
    const { [name]: _left, ...others } = headers as Record<string, string>
    expect([name, misfits('kafka.all', 'disclosure', { ...record, headers: others }).length]).toEqual([
      name,
      1,
    ])
  }
  const more = { ...(headers as object), ce_more: '1' }
  expect(misfits('kafka.all', 'disclosure', { ...record, headers: more })).toHaveLength(1)
})
