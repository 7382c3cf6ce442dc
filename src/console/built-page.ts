/**
 * Defines the form of the console's page once it is built: the shell, and every file that it loads, compressed. It travels
 * as JSON from the process that builds it to the one that serves it.
 */

/** One file of the page, both compressed forms in base64. */
export interface BuiltFile {
  /** The header Content-Type. */
  type: string
  brotli: string
  gzip: string
}

/** The page. */
export interface BuiltPage {
  /** Of all files together: part of every address of a file, so that each may be kept for ever. */
  hash: string
  /** The HTML that every screen begins with. */
  shell: string
  /** First parts of the screens' paths, such as `feed` for `/console/feed`. */
  screens: readonly string[]
  /** By path below `/console/assets/<hash>/`. */
  files: Readonly<Record<string, BuiltFile>>
}

/** Where the console is served. */
export const CONSOLE_PATH = '/console'
