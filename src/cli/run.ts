/**
 * `bridge run`: the roles named in the settings, until the process is asked to stop. Owns the ready line.
 */
import { readFileSync } from 'node:fs'
import { startApp } from '../app.ts'
import { systemChance } from '../lifecycle/clock.ts'
import { loadSettings } from '../settings/settings.ts'
import { takeNoArguments } from './arguments.ts'
import type { CommandContext } from './context.ts'

/** Runs until the signal aborts. Rejects with what stopped it, wrong settings included. */
export async function runCommand(args: string[], context: CommandContext): Promise<void> {
  takeNoArguments('run', args)
  const settings = loadSettings(context.env, (path) => readFileSync(path, 'utf8'))
  const app = await startApp(settings, { clock: context.clock, chance: systemChance })
  context.stdout(JSON.stringify(app.ready))
  await app.runUntil(context.signal)
}
