/** Runs `bridge console`: prints a link that opens the console of a running bridge once, and opens it with `--open`. */
import { spawn } from 'node:child_process'
import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MINUTE_MS } from '../../core/durations.ts'
import { messageOf } from '../../errors.ts'
import { fieldsOf, printableText, requesterOf } from '../client/lists.ts'
import type { RefusalWords } from '../client/refusal.ts'
import { requestFlags, TARGET_HELP, targetOf } from '../client/target.ts'
import { command } from '../terminal/command.ts'
import type { CommandContext } from '../terminal/context.ts'

/** Begins the name of the folder of the page that leads to a link; chance adds six characters. */
const FOLDER = 'bridge-console-'
const FOLDER_NAME = new RegExp(`^${FOLDER}\\w{6}$`)
const PAGE = 'open.html'
/** Longer than the link lives. */
const PAGE_KEPT_MS = 2 * MINUTE_MS

const words: RefusalWords = {
  help: 'bridge console --help lists the flags.',
  missing: {
    message: 'serves no console',
    hint: 'Check --url; the bridge there must have the roles api and console in BRIDGE_ROLES.',
  },
}

/** Prints the link. Rejects if no bridge answers, it has no console, or the token is not valid. */
export const consoleCommand = command(
  {
    name: 'console',
    does: 'a link that opens the console in a browser, once and within a minute',
    help: `The browser gets a session of the token: it may read what the token may read, and change things
after it was asked for the token again. With BRIDGE_ADMIN_TOKEN it lasts an hour, else twelve.

  --open                also start a browser (xdg-open) with a file that leads there, which only you can read;
                        the page asks once more
  --json                the response as JSON on stdout
${TARGET_HELP}

  bridge console --open
  bridge console --url https://bridge.example --token-file desk.token`,
    flags: { ...requestFlags, open: { type: 'boolean' } },
  },
  async ({ values: { json, open, ...target } }, context) => {
    const request = requesterOf(target, words, context)
    const answer = fieldsOf(await request({ method: 'POST', path: '/v1/sessions/links' }))
    // The address that the command was given, which may have a path before it that the bridge does not see.
    const link = `${targetOf(target, context.env).url}/console/#${printableText(answer.code)}`
    context.stdout(json === true ? JSON.stringify({ ...answer, url: link }) : link)
    if (open === true) await openBrowser(link, context)
  },
)

/**
 * Writes a page that leads to the link and gives its path. Everybody on the machine can read the arguments of a process, and
 * would be faster than the browser. The file stays, because the browser reads it later; a later call removes it.
 */
function pageThatLeadsTo(link: string): string {
  const file = join(mkdtempSync(join(tmpdir(), FOLDER)), PAGE)
  const text = `<!doctype html><meta http-equiv="refresh" content="0; url=${link.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">`
  writeFileSync(file, `${text}\n`, { mode: 0o600 })
  return file
}

/** Removes the pages that earlier calls of this user have left, once their links have ended. */
function removeOldPages(nowMs: number): void {
  const folders = readdirSync(tmpdir()).filter((name) => FOLDER_NAME.test(name))
  for (const folder of folders.map((name) => join(tmpdir(), name))) {
    const found = lstatSync(folder, { throwIfNoEntry: false })
    if (found === undefined || !found.isDirectory() || found.uid !== process.getuid?.()) continue
    const isOld = Math.abs(nowMs - found.mtimeMs) > PAGE_KEPT_MS
    if (isOld && readdirSync(folder).join() === PAGE) rmSync(folder, { recursive: true, force: true })
  }
}

/** Starts the machine's browser; where there is none, the link is still on stdout. */
async function openBrowser(link: string, { env, clock, stderr }: CommandContext): Promise<void> {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open'
  try {
    removeOldPages(clock.now())
    await new Promise<void>((resolve, reject) => {
      const child = spawn(opener, [pageThatLeadsTo(link)], { env, detached: true, stdio: 'ignore' })
      child.once('error', reject)
      child.once('spawn', () => resolve(child.unref()))
    })
    stderr('if the browser finds no file, as one that is a snap, open the link yourself')
  } catch (error) {
    stderr(`no browser was started (${messageOf(error)}): open the link yourself`)
  }
}
