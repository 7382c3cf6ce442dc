/**
 * Defines the schemas of an event and its data: an announcement, or a gap (a time span in which
 * announcements may be missing). Members that come from the upstream are not restricted, because they are passed on
 * unchanged.
 */
import { z } from 'zod'
import {
  AMENDED,
  disclosureTypes,
  GAP_FILLED,
  GAP_GIVEN_UP,
  GAP_OPENED,
  gapTypes,
  PUBLISHED,
} from '../../core/event.ts'
import { isoTime } from './json-schema.ts'

/** A company in an announcement. */
const companySchema = z
  .object({
    name: z.string().describe('Name of the company.'),
    lei: z.string().describe('Legal Entity Identifier.'),
    instrument: z
      .object({
        isin: z.string().describe('ISIN.'),
        symbol: z.object({ mnemonic: z.string().describe('Listing symbol.') }),
      })
      .partial(),
  })
  .partial()
  .meta({ id: 'Company' })

/** A category tag. */
const categorySchema = z
  .object({
    kind: z.string().describe('`FCA` or `Native`; others occur.'),
    code: z.string().describe('Code in that scheme.'),
    name: z.string().optional().describe('Name of the code.'),
    description: z.string().optional().describe('Of FCA categories.'),
    importance: z
      .string()
      .optional()
      .describe('Of FCA categories: `low`, `medium`, `high`, `ultra`; others occur.'),
  })
  .meta({ id: 'Category' })

/** One announcement as upstream gave it: the members that are known, none of them promised but guid and timestamp. */
export const disclosureSchema = z
  .object({
    rnsId: z.string().describe('Number of the announcement in its source; it comes again after some months.'),
    timestamp: z.string().describe('When it was published, as upstream wrote it.'),
    source: z.string().describe('`RNS`.'),
    guid: z.string().describe('Its identity.'),
    version: z.int().describe('Version inside the guid.').nullable(),
    issuer: companySchema,
    related: z.array(companySchema).describe('Other companies it is about.'),
    headline: z.string().describe('Upstream cuts it at 50 characters.'),
    category: z.array(categorySchema),
    publication: z.array(
      z.object({
        mime: z.string().describe('Media type.'),
        url: z.string().describe('Address of the document.'),
      }),
    ),
    derivatives: z
      .unknown()
      .meta({ type: 'object', description: 'What upstream derives from the document.' }),
    replaces: z.object({
      guid: z.string().describe('Of the announcement replaced.'),
      version: z.int().optional().describe('Its version.'),
    }),
  })
  .partial()
  .required({ guid: true, timestamp: true })
  .meta({
    id: 'Disclosure',
    description:
      'The upstream item as it came. Other members and unknown values occur; only `guid` and `timestamp` are sure.',
  })

/** A stretch of upstream time in which items may be missing. */
export const gapSchema = z
  .object({
    id: z.string().describe('Id of the gap.'),
    from: isoTime('Its first moment.'),
    to: isoTime('Its last moment.'),
    cause: z
      .enum(['overflow', 'cursor_refused', 'outage', 'epoch', 'retention'])
      .describe(
        'A poll left items out, upstream refused the cursor, nobody polled, the log was created anew or restored, or what a reader missed is no longer kept.',
      ),
    openedAt: isoTime('When it was noticed.'),
    found: z.int().describe('Items that filling it has brought so far.'),
    closedAt: isoTime('When it was filled or given up; null while it is open.').nullable(),
  })
  .meta({ id: 'Gap' })

/** One event of the log, a CloudEvent 1.0. */
export const eventSchema = z
  .object({
    specversion: z.literal('1.0'),
    id: z
      .string()
      .describe(
        'The guid of the item, `<guid>#<revision>` from its second content on, or `gap:<id>:<state>`.',
      ),
    source: z
      .enum(['/disclosures/sources/rns', '/bridge'])
      .describe('Where the event comes from: the upstream source, or the bridge itself.'),
    type: z
      .string()
      .describe(
        `\`${PUBLISHED}\`, \`${AMENDED}\`, \`${GAP_OPENED}\`, \`${GAP_FILLED}\` or \`${GAP_GIVEN_UP}\`; more may come.`,
      ),
    time: isoTime('When it was published upstream; of a gap, when its state changed.'),
    subject: z
      .string()
      .describe(
        'The issuer: LEI, else ISIN, else listing symbol, else the name in lower case; or `gap:<id>`.',
      ),
    sequence: z.string().meta({
      description: 'Place in the stream, without a hole inside an epoch, with leading zeros.',
      pattern: '^[0-9]{20}$',
    }),
    epoch: z.string().meta({
      description: 'Changes only when the log is created anew or restored.',
      pattern: '^[A-Za-z0-9]{8}$',
    }),
    cursor: z.string().describe('Opaque: reading goes on after this event.'),
    recordedtime: isoTime('When the bridge first held it.'),
    late: z
      .literal('true')
      .optional()
      .describe('There where an event with a later `time` was published before this one.'),
    aheadof: isoTime(
      "There where `time` is more than a minute ahead of upstream's present: that present.",
    ).optional(),
    replacesid: z
      .string()
      .optional()
      .describe('guid of the announcement that this one replaces, where upstream says so.'),
    subscriptionid: z
      .string()
      .optional()
      .describe(
        'Only on a WebSocket with the subprotocol `cloudevents.json`: the id of a subscription other than the first.',
      ),
    datacontenttype: z.literal('application/json'),
    data: z.union([disclosureSchema, gapSchema]),
  })
  .meta({
    id: 'Event',
    description: 'A CloudEvent 1.0 in its structured JSON form. Webhooks have it as their body.',
  })

/** An event about an announcement. */
export const disclosureEventSchema = z.intersection(
  eventSchema,
  z.looseObject({ type: z.enum(disclosureTypes), data: disclosureSchema }).partial(),
)

/** An event about a gap. */
export const gapEventSchema = z.intersection(
  eventSchema,
  z.looseObject({ type: z.enum(gapTypes), data: gapSchema }).partial(),
)
