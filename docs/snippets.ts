/**
 * Code on a page that is a file of the repository: a block behind `<!-- file: path -->` holds that file. Owns the filling
 * of such blocks. Refuses to choose them: the page does.
 */

const FILLED_BLOCK = /^<!-- file: (\S+) -->\n```(\w+)\n[\s\S]*?^```$/gm

/** The page with each such block as `read` gives its file. */
export function withSnippets(page: string, read: (path: string) => string): string {
  return page.replace(
    FILLED_BLOCK,
    (_block, path: string, language: string) =>
      `<!-- file: ${path} -->\n\`\`\`${language}\n${read(path).trimEnd()}\n\`\`\``,
  )
}
