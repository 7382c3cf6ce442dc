/**
 * The client as JavaScript, for a browser or a Node that does not strip types: `node strip.ts DIRECTORY` writes it there,
 * file by file, line by line. Owns the names of imports. Refuses to bundle or to shorten.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

const SOURCE = join(import.meta.dirname, 'src')

/** The client's files as JavaScript, by name: `stream.js` is the one to import. */
export function strippedClient(): Map<string, string> {
  return new Map(
    readdirSync(SOURCE).map((name) => {
      const code = stripTypeScriptTypes(readFileSync(join(SOURCE, name), 'utf8'))
      return [name.replace(/\.ts$/, '.js'), code.replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'")]
    }),
  )
}

if (import.meta.main) {
  const [, , directory] = process.argv
  if (directory === undefined) throw new Error('node strip.ts DIRECTORY')
  mkdirSync(directory, { recursive: true })
  for (const [name, code] of strippedClient()) writeFileSync(join(directory, name), code)
}
