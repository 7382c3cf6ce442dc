/**
 * Runs `bridge run`: starts the roles (jobs such as polling or serving the API) that the settings name, and stops them
 * on SIGTERM or SIGINT.
 */
import { startApp } from '../../app/app.ts'
import { systemChance } from '../../lifecycle/clock.ts'
import { returnMemory } from '../../lifecycle/return-memory.ts'
import { limitYoungGeneration } from '../../lifecycle/young-generation.ts'
import { loadSettings } from '../../settings/settings.ts'
import { createInsideDoctor } from '../doctor/inside.ts'
import { command } from '../terminal/command.ts'

const HELP = `It takes no flags: settings come from the environment (BRIDGE_*) and a .env file (docs/configuration.md).
Required: BRIDGE_UPSTREAM_URL, BRIDGE_UPSTREAM_KEY, BRIDGE_ADMIN_TOKEN, BRIDGE_SECRET_KEY.
The ready line goes to stdout, the log to stderr. bridge doctor checks everything before the first start.`

const SPEC = {
  name: 'run',
  does: 'runs the roles of BRIDGE_ROLES against the configured upstream (docs/run/operating.md)',
  help: HELP,
  flags: {},
} as const

/** Runs until the signal aborts. Rejects for wrong settings and with the fault that ended it. */
export const runCommand = command(SPEC, async (_given, context) => {
  const settings = loadSettings(context.env)
  const { clock, env, terminal } = context
  const doctor = createInsideDoctor(settings, env, clock)
  const app = await startApp(settings, {
    ...{ clock, chance: systemChance, doctor },
    ...(terminal !== null && { terminal }),
  })
  using _limit = limitYoungGeneration(() => app.isDelivering())
  using _return = returnMemory()
  context.stdout(JSON.stringify(app.ready))
  await app.runUntil(context.signal)
})
