/**
 * Serves `GET /v1/categories` and `GET /v1/issuers`: the category codes and identifiers that filters take, with their names,
 * for programs that suggest them.
 */
import { z } from 'zod'
import { CodeCounter } from '../../archive/reading/code-counter.ts'
import { categoryOf, issuerOf } from '../../archive/reading/directory-entries.ts'
import type { Reader } from '../../archive/reading/reader.ts'
import type { SearchSlices } from '../../archive/reading/search-slices.ts'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import type { Archive } from '../../archive/store/archive.ts'
import {
  type CategoryKind,
  categoryKinds,
  issuerFields,
  storedCodes,
  storedIssuers,
} from '../../archive/store/directory.ts'
import { knownFcaCodes, knownNativeCodes } from '../../core/filter/categories.ts'
import { presetNames, presets } from '../../core/filter/presets.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'

/** Most codes of a kind that are listed: FCA's list has some 150. */
const MOST_CODES = 1000
const MOST_ISSUERS = 20
/** Names of companies are shorter. */
const LONGEST_PREFIX = 200

/** What the routes work with. */
export interface FilterValueParts {
  archive: Archive
  reader: Reader
  searchSlices: SearchSlices
}

const categorySchema = z.object({
  kind: z
    .enum(categoryKinds)
    .describe('Which member of a filter takes it: `fcaCategories` or `nativeCategories`.'),
  code: z.string().describe('What the filter takes.'),
  name: z.string().describe('As in the newest disclosure that has it; null while none is kept.').nullable(),
  importance: z
    .string()
    .describe(
      'As in that disclosure: `low`, `medium`, `high`, `ultra`; more may come. Null of a `native` one.',
    )
    .nullable(),
  seen: z.int().describe('How many of the events that this node keeps have it.'),
})

const presetSchema = z.object({
  name: z.enum(presetNames).describe('What the member `preset` of a filter takes.'),
  meaning: z.string().describe('In one sentence.'),
  keeps: z
    .enum(['only', 'without'])
    .describe('`only`: disclosures with one of the codes; `without`: those with none of them.'),
  fcaCategories: z.array(z.string()).describe('Its codes.'),
})

const categoriesSchema = z.object({
  data: z.array(categorySchema).describe('By kind, then by code.'),
  presets: z.array(presetSchema).describe('Named filters over these codes.'),
})

const issuerSchema = z.object({
  name: z.string().describe('As in its newest disclosure; null where that has none.').nullable(),
  symbol: z.string().describe('Listing symbol, likewise.').nullable(),
  isin: z.string().describe('Likewise.').nullable(),
  lei: z.string().describe('Likewise.').nullable(),
  matchedBy: z.enum(issuerFields).describe('What begins with the prefix.'),
  matched: z
    .string()
    .describe(
      'That identifier, or the name in lower case. It may be a former one, or one of several of the issuer.',
    ),
})

const issuersSchema = z.object({
  data: z
    .array(issuerSchema)
    .describe(`At most ${MOST_ISSUERS}: found by symbol first, then by name, ISIN, LEI, each from A to Z.`),
})

/** The routes. Every node with the role answers from its copy of the log. */
export function filterValueRoutes(parts: FilterValueParts): Route[] {
  const counter = new CodeCounter(parts.archive, parts.searchSlices)
  return [
    {
      method: 'GET',
      path: '/v1/categories',
      scope: 'events:read',
      summary:
        'The category codes that filters take, with names, importance and how often each occurs, and the presets: `{data: [{kind, code, name, importance, seen}], presets: [{name, meaning, keeps, fcaCategories}]}`. See [filter-values.md](filter-values.md).',
      parameters: {},
      answers: {
        200: { meaning: 'Known codes, and those of kept disclosures.', schema: categoriesSchema },
      },
      problems: ['unavailable'],
      handle: (call) => listCategories(call, parts, counter),
    },
    {
      method: 'GET',
      path: '/v1/issuers',
      scope: 'events:read',
      summary: `Issuers whose symbol, name, ISIN or LEI begins with a text: \`{data: [{name, symbol, isin, lei, matchedBy, matched}]}\`, ${MOST_ISSUERS} at most. See [filter-values.md](filter-values.md).`,
      parameters: {
        prefix: `The text, in any case, at most ${LONGEST_PREFIX} characters; default: none, for the first of all.`,
      },
      answers: { 200: { meaning: 'Issuers of kept disclosures, each once.', schema: issuersSchema } },
      problems: ['unavailable'],
      handle: (call) => listIssuers(call, parts),
    },
  ]
}

async function listCategories(call: Call, parts: FilterValueParts, counter: CodeCounter): Promise<void> {
  const { query, response, gone } = call
  query.check()
  requireCompleteReplica(parts.reader.replica)
  const data: z.infer<typeof categorySchema>[] = []
  for (const kind of categoryKinds) {
    for (const code of codesOf(parts.archive, kind)) {
      data.push(await categoryView(kind, code, call, { ...parts, counter }))
      if (gone.aborted) return
    }
  }
  const answer: z.infer<typeof categoriesSchema> = {
    data,
    presets: presetNames.map((name) => ({
      name,
      ...presets[name],
      fcaCategories: [...presets[name].fcaCategories],
    })),
  }
  sendJson(response, 200, Buffer.from(JSON.stringify(answer)))
}

/** Reads and counts in time slices. */
async function categoryView(
  kind: CategoryKind,
  { code, sequence }: { code: string; sequence: number | null },
  { caller, gone }: Call,
  { archive, reader, searchSlices, counter }: FilterValueParts & { counter: CodeCounter },
): Promise<z.infer<typeof categorySchema>> {
  if (sequence === null) return { kind, code, name: null, importance: null, seen: 0 }
  const { tokenId } = caller
  const { name, importance } = await searchSlices.run(
    () => categoryOf(archive, kind, { code, sequence }),
    tokenId,
  )
  const seen = await counter.count(kind, code, reader.latest, { gone, caller: tokenId })
  return { kind, code, name, importance, seen }
}

/** The codes of a kind, from A to Z, with the sequence of the newest event that has them; null: none has. */
function codesOf({ db }: Archive, kind: CategoryKind): { code: string; sequence: number | null }[] {
  const stored = new Map(storedCodes(db, kind, MOST_CODES).map(({ code, sequence }) => [code, sequence]))
  const known = kind === 'fca' ? knownFcaCodes : knownNativeCodes
  const codes = new Set([...known, ...stored.keys()])
  return [...codes].sort().map((code) => ({ code, sequence: stored.get(code) ?? null }))
}

async function listIssuers(
  { query, response, caller, gone }: Call,
  { archive, reader, searchSlices }: FilterValueParts,
): Promise<void> {
  const prefix = query.text('prefix')?.trim() ?? ''
  if (prefix.length > LONGEST_PREFIX) query.refuse('prefix', `has more than ${LONGEST_PREFIX} characters`)
  query.check()
  requireCompleteReplica(reader.replica)
  const { tokenId } = caller
  const found = await searchSlices.run(() => storedIssuers(archive.db, prefix, MOST_ISSUERS), tokenId)
  const data: z.infer<typeof issuerSchema>[] = []
  for (const entry of found) {
    const issuer = await searchSlices.run(() => issuerOf(archive, entry), tokenId)
    if (gone.aborted) return
    if (issuer === null) continue
    const { name, symbol, isin, lei } = issuer
    data.push({ name, symbol, isin, lei, matchedBy: entry.field, matched: entry.value })
  }
  sendJson(response, 200, Buffer.from(JSON.stringify({ data } satisfies z.infer<typeof issuersSchema>)))
}
