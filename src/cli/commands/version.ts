/** Runs `bridge version`: prints the version. */
import { VERSION } from '../../core/version.ts'
import { command } from '../terminal/command.ts'

/** Prints the version; with `--json` as `{"version":…}`. */
export const versionCommand = command(
  {
    name: 'version',
    does: 'prints the version',
    help: '  --json   {"version":…} on stdout',
    flags: { json: { type: 'boolean' } },
  },
  async ({ values }, { stdout }) =>
    stdout(values.json === true ? JSON.stringify({ version: VERSION }) : VERSION),
)
