import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { generatedPages } from '../../docs/generate.ts'

const docs = resolve(import.meta.dirname, '../../docs')

test.each(Object.entries(generatedPages()))(
  'docs/%s is what the code says; npm run docs makes it',
  (name, text) => {
    expect(readFileSync(join(docs, name), 'utf8')).toBe(text)
  },
)
