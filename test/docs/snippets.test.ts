import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withSnippets } from '../../docs/snippets.ts'
import { decodeCursor } from '../../src/core/cursor.ts'
import { eventSchemas } from '../../src/http/shared-schemas.ts'
import { misfits } from '../support/house/openapi-answers.ts'
import type { OpenApi } from '../support/house/openapi-shape.ts'
import { root, textFiles } from '../support/house/repository.ts'

const page = readFileSync(join(root, 'docs/use/webhooks-receivers.md'), 'utf8')

test('a block behind the name of a file is that file, and no other block is touched', () => {
  const before =
    'a\n<!-- file: x/y.ts -->\n```ts\nold\n```\nb\n```ts\nmine\n```\n<!-- file: z -->\n\n```ts\nfar\n```\n'
  expect(withSnippets(before, (path) => `// ${path} $1\n`)).toBe(before.replace('old', '// x/y.ts $1'))
})

test.each([
  ['receiver of webhooks', 'use/webhooks-receivers.md', 'clients/receivers'],
  ['recipe for a stream', 'use/streams-recipes.md', 'clients/streams'],
])('every %s is on its page', (_what, name, folder) => {
  const text = readFileSync(join(root, 'docs', name), 'utf8')
  const named = [...text.matchAll(/^<!-- file: (\S+) -->\n```\w+\n/gm)].map(([, path]) => path)
  expect(named.sort()).toEqual(
    textFiles(folder)
      .map(({ path }) => path)
      .sort(),
  )
})

test('the event on the page is one of the contract', () => {
  const [, json = ''] = /^```json\n([\s\S]*?)^```$/m.exec(page) ?? []
  const event = JSON.parse(json)
  const document = { components: { schemas: eventSchemas } } as unknown as OpenApi
  expect(misfits(document, eventSchemas.Event, event)).toEqual([])
  expect(decodeCursor(event.cursor)).toEqual({
    epoch: event.epoch,
    sequence: Number(event.sequence),
    timeMs: Date.parse(event.time),
  })
})
