/**
 * The event (contract §3), the announcement and the gap in it, as JSON Schema. Owns their description. Refuses to be
 * strict about what is upstream's: its members and values come as they are.
 */
import {
  AMENDED,
  disclosureTypes,
  GAP_FILLED,
  GAP_GIVEN_UP,
  GAP_OPENED,
  gapTypes,
  PUBLISHED,
} from '../../core/event.ts'
import { type JsonSchema, list, object, oneWord, orNull, ref, text, time, whole } from './json-schema.ts'

/** One event of the log, a CloudEvent 1.0. */
export const eventSchema: JsonSchema = {
  ...object(
    {
      specversion: { type: 'string', const: '1.0' },
      id: text(
        'The guid of the item, `<guid>#<revision>` from its second content on, or `gap:<id>:<state>`.',
      ),
      source: oneWord(
        ['/disclosures/sources/rns', '/bridge'],
        'Who tells: the source, or the bridge itself.',
      ),
      type: text(
        `\`${PUBLISHED}\`, \`${AMENDED}\`, \`${GAP_OPENED}\`, \`${GAP_FILLED}\` or \`${GAP_GIVEN_UP}\`; more may come.`,
      ),
      time: time('When it was published upstream; of a gap, when its state changed.'),
      subject: text(
        'The issuer: LEI, else ISIN, else listing symbol, else the name in lower case; or `gap:<id>`.',
      ),
      sequence: text('Place in the stream, without a hole inside an epoch, with leading zeros.', {
        pattern: '^[0-9]{20}$',
      }),
      epoch: text('Changes only when the log is started afresh.', { pattern: '^[A-Za-z0-9]{8}$' }),
      cursor: text('Opaque: reading goes on after this event.'),
      recordedtime: time('When the bridge first held it.'),
      late: text('There where an event with a later `time` was published before this one.', {
        const: 'true',
      }),
      replacesid: text('guid of the announcement that this one replaces, where upstream says so.'),
      datacontenttype: { type: 'string', const: 'application/json' },
      data: { anyOf: [ref('Disclosure'), ref('Gap')] },
    },
    ['late', 'replacesid'],
  ),
  description: 'A CloudEvent 1.0 in its structured JSON form. Webhooks have it as their body.',
}

/** An event that tells of an announcement. */
export const disclosureEventSchema: JsonSchema = {
  allOf: [ref('Event'), { properties: { type: { enum: disclosureTypes }, data: ref('Disclosure') } }],
}

/** An event that tells of a gap. */
export const gapEventSchema: JsonSchema = {
  allOf: [ref('Event'), { properties: { type: { enum: gapTypes }, data: ref('Gap') } }],
}

/** One announcement as upstream gave it: the members that are known, none of them promised but guid and timestamp. */
export const disclosureSchema: JsonSchema = {
  type: 'object',
  description:
    'The upstream item as it came. Other members and unknown values occur; only `guid` and `timestamp` are sure.',
  properties: {
    rnsId: text('Number of the announcement in its source; it comes again after some months.'),
    timestamp: text('When it was published, as upstream wrote it.'),
    source: text('`RNS`.'),
    guid: text('Its identity.'),
    version: { type: ['integer', 'null'], description: 'Version inside the guid.' },
    issuer: ref('Company'),
    related: list(ref('Company'), { description: 'Other companies it is about.' }),
    headline: text('Upstream cuts it at 50 characters.'),
    category: list(ref('Category')),
    publication: list(object({ mime: text('Media type.'), url: text('Address of the document.') })),
    derivatives: { type: 'object', description: 'What upstream derives from the document.' },
    replaces: object({ guid: text('Of the announcement replaced.'), version: whole('Its version.') }, [
      'version',
    ]),
  },
  required: ['guid', 'timestamp'],
}

/** A company in an announcement. */
export const companySchema: JsonSchema = object(
  {
    name: text('Name of the company.'),
    lei: text('Legal Entity Identifier.'),
    instrument: object(
      {
        isin: text('ISIN.'),
        symbol: object({ mnemonic: text('Listing symbol.') }),
      },
      ['isin', 'symbol'],
    ),
  },
  ['name', 'lei', 'instrument'],
)

/** A category tag. */
export const categorySchema: JsonSchema = object(
  {
    kind: text('`FCA` or `Native`; others occur.'),
    code: text('Code in that scheme.'),
    name: text('Name of the code.'),
    description: text('Of FCA categories.'),
    importance: text('Of FCA categories: `low`, `medium`, `high`, `ultra`; others occur.'),
  },
  ['name', 'description', 'importance'],
)

/** A stretch of upstream time in which items may be missing. */
export const gapSchema: JsonSchema = object({
  id: text('Id of the gap.'),
  from: time('Its first moment.'),
  to: time('Its last moment.'),
  cause: oneWord(
    ['overflow', 'cursor_refused', 'outage', 'epoch', 'retention'],
    'A poll left items out, upstream refused the cursor, nobody polled, the log was started afresh, or what a reader missed is no longer kept.',
  ),
  openedAt: time('When it was noticed.'),
  found: whole('Items that filling it has brought so far.'),
  closedAt: orNull(time('When it was filled or given up; null while it is open.')),
})
