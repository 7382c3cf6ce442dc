/**
 * Derives operation ids and tags of the OpenAPI document from paths, and titles and descriptions from the summaries of
 * the routes.
 */

/** The parts of a path that differ: `id` of `/v1/tokens/{id}`. */
const SEGMENT = /\{(\w+)\}/g
/** A link from `docs/use/http.md` to a page beside it, or to one of another folder of `docs/`. */
const PAGE_LINK = /\[[^\]]+\]\((?:\.\.\/(\w+)\/)?([\w-]+\.md(?:#[\w-]+)?)\)/g

/** `deleteV1TokensById` for DELETE `/v1/tokens/{id}`: the same as long as the path is. */
export function operationId(method: string, path: string): string {
  const parts = path
    .replace(SEGMENT, 'by-$1')
    .split(/[^A-Za-z0-9]+/)
    .filter((part) => part !== '')
  return method.toLowerCase() + parts.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('')
}

/** The group of a path: its first part that is no version. */
export function tagOf(path: string): string {
  const [first = '', second = first] = path.split('/').slice(1)
  return /^v\d+$/.test(first) ? second : first
}

/** Sentences of the docs where their links lead nowhere: pages by their name. */
export function pagesByName(sentences: string): string {
  return sentences.replace(PAGE_LINK, (_link, folder = 'use', page) => `docs/${folder}/${page}`)
}

/** What comes before the first colon, semicolon or end of a sentence. */
export function titleOf(sentences: string): string {
  const [title = ''] = pagesByName(sentences).split(/[:;.](?=\s|$)/, 1)
  return title
}

/** A parameter for each part of the path that differs. Its values come from the path before it. */
export function pathParameters(path: string): object[] {
  return [...path.matchAll(SEGMENT)].map(({ 1: name = '', index }) => ({
    name,
    in: 'path',
    required: true,
    description: `As \`${path.slice(0, index - 1)}\` gives it.`,
    schema: { type: 'string' },
  }))
}
