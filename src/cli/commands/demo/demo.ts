/**
 * Runs `bridge demo`: an imitation of the upstream and every role of the bridge in one process, without settings. A
 * line of live figures shows what happens.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { App } from '../../../app/app.ts'
import { startApp } from '../../../app/app.ts'
import { MINUTE_MS } from '../../../core/durations.ts'
import { plans } from '../../../core/plans.ts'
import { sleep, systemChance } from '../../../lifecycle/clock.ts'
import type { Sandbox } from '../../../sandbox/sandbox.ts'
import { startSandbox } from '../../../sandbox/sandbox.ts'
import { ENV_FILE, readTextFile } from '../../../settings/environment.ts'
import { loadSettings, type Settings } from '../../../settings/settings.ts'
import { addressOf } from '../../client/target.ts'
import { createInsideDoctor } from '../../doctor/inside.ts'
import { command } from '../../terminal/command.ts'
import type { CommandContext } from '../../terminal/context.ts'
import { freePort } from './free-port.ts'
import { PlainPoller, type PlainPollerRule } from './plain-poller.ts'
import { type DemoReceiver, startReceiver } from './receiver.ts'

/** Settings of a real bridge that the demo ignores: upstream, topics and files. */
const ITS_OWN =
  /^BRIDGE_(UPSTREAM_|KAFKA_|TOPIC_|ALL_RETENTION$|ROLES$|DATA_DIR$|BACKFILL$|GATEWAY_|CALENDAR_FILE$)/

/** Enough for a poll every second, with overflow fills and re-scans. */
const DEMO_WEEKLY_QUOTA = 1_000_000
const LIVE_LINE_MS = 1000
/** How long the link to the console waits for its one use. */
const LINK_MS = 15 * MINUTE_MS
/** What is compared with: more polls a week than the plan pays for. */
const PLAIN_POLLER: PlainPollerRule = { intervalMs: 60_000, pageSize: plans.advanced.pageSize }
/** Without a terminal one line per this many updates. */
const UPDATES_A_LINE = 5

/** The ports of the demo; where one is taken, the system chooses another. */
const PORTS = { http: 8080, ops: 9464, upstream: 8181, admin: 8182, receiver: 8190 } as const
/** Where the pages under development of most tools are served from: a browser there may read the demo. */
const ORIGINS = [3000, 5173, 8000].map((port) => `http://localhost:${port}`)

const HELP = `It takes no flags and needs no settings. It listens on ${Object.values(PORTS).join(', ')} where these are free.
BRIDGE_* of the environment apply (e.g. BRIDGE_HTTP_PORT and BRIDGE_ADMIN_TOKEN), except upstream, Kafka,
roles and data directory, which are its own; .env is not read. It prints addresses, a token and commands
to try; a receiver of its own accepts webhooks. Beside its figures it counts what a poller of the newest
${PLAIN_POLLER.pageSize} items a minute would have lost. Ctrl-C stops it and deletes its data.`

const SPEC = {
  name: 'demo',
  does: 'a synthetic upstream and the whole product in one process (docs/use/sandbox.md)',
  help: HELP,
  flags: {},
} as const

/** Runs the demo until the signal aborts. */
export const demoCommand = command(SPEC, async (_given, context) => {
  const { clock, signal } = context
  const { taken, left } = bridgeNames(context.env)
  if (left.length > 0) context.stderr(`settings that the demo ignores: ${left.join(', ')}`)
  const dataDir = mkdtempSync(join(tmpdir(), 'bridge-demo-'))
  const sandbox = await startSandbox(
    {
      scenario: 'demo',
      plan: 'advanced',
      weeklyQuota: DEMO_WEEKLY_QUOTA,
      port: await freePort(PORTS.upstream),
      adminPort: await freePort(PORTS.admin),
    },
    { clock },
  )
  const receiver = await startReceiver(PORTS.receiver)
  try {
    const own = demoEnvironment(sandbox, dataDir, {
      http: await freePort(PORTS.http),
      ops: await freePort(PORTS.ops),
    })
    const settings = loadSettings(over(own, taken), noEnvFile)
    const doctor = createInsideDoctor(settings, context.env, clock)
    const app = await startApp(settings, {
      ...{ clock, chance: systemChance, doctor },
      ...(context.terminal !== null && { terminal: context.terminal }),
    })
    context.stdout(JSON.stringify(app.ready))
    const parts: DemoParts = { app, sandbox, receiver }
    // The launcher of a release says how it was called.
    const bridge = context.env.DISCLOSURE_BRIDGE_COMMAND ?? 'npx --no-install bridge'
    for (const line of welcome(parts, settings, bridge)) context.stderr(line)
    await Promise.all([app.runUntil(signal), showLive(parts, context)])
  } finally {
    await Promise.all([sandbox.close(), receiver.close()])
    rmSync(dataDir, { recursive: true, force: true })
  }
})

/** What runs. */
interface DemoParts {
  app: App
  sandbox: Sandbox
  receiver: DemoReceiver
}

function demoEnvironment(
  sandbox: Sandbox,
  dataDir: string,
  ports: { http: number; ops: number },
): Record<string, string> {
  return {
    BRIDGE_DATA_DIR: dataDir,
    BRIDGE_UPSTREAM_URL: sandbox.url,
    BRIDGE_UPSTREAM_KEY: sandbox.key,
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    BRIDGE_UPSTREAM_WEEKLY_QUOTA: DEMO_WEEKLY_QUOTA.toString(),
    BRIDGE_BACKFILL: 'PT1H',
    BRIDGE_HTTP_PORT: ports.http.toString(),
    BRIDGE_OPS_PORT: ports.ops.toString(),
    BRIDGE_ADMIN_TOKEN: shortToken(),
    BRIDGE_CORS_ORIGINS: ORIGINS.join(','),
    BRIDGE_SECRET_KEY: randomBytes(32).toString('hex'),
    // A receiver of one's own, on this machine, shall do to try webhooks.
    BRIDGE_WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
    BRIDGE_WEBHOOK_ALLOW_HTTP: 'true',
    BRIDGE_LOG_LEVEL: 'warn',
  }
}

/** 16 characters, the least that a token may have; 55 bits of them are random. */
function shortToken(): string {
  const letters = 'abcdefghijkmnpqrstuvwxyz23456789'
  return `demo-${[...randomBytes(11)].map((byte) => letters[byte % letters.length]).join('')}`
}

/** The demo reads no `.env` file, so that it runs the same everywhere. */
function noEnvFile(path: string): string {
  if (path !== ENV_FILE) return readTextFile(path)
  throw Object.assign(new Error(`${path} is not read by the demo`), { code: 'ENOENT' })
}

/** The settings of the environment that the demo uses, and the names of those that it ignores. */
function bridgeNames(env: Readonly<Record<string, string | undefined>>): {
  taken: Record<string, string | undefined>
  left: string[]
} {
  const given = Object.entries(env).filter(([name]) => name.startsWith('BRIDGE_'))
  return {
    taken: Object.fromEntries(given.filter(([name]) => !ITS_OWN.test(name))),
    left: given.flatMap(([name]) => (ITS_OWN.test(name) ? [name] : [])),
  }
}

/** Both merged; a `NAME_FILE` of the environment replaces the demo's own `NAME`. */
function over(
  own: Record<string, string>,
  taken: Record<string, string | undefined>,
): Record<string, string | undefined> {
  const kept = Object.entries(own).filter(([name]) => taken[`${name}_FILE`] === undefined)
  return { ...Object.fromEntries(kept), ...taken }
}

/** A link that opens the console once. */
function consoleLink(app: App, { http, httpTls }: Settings): string {
  const { port } = new URL(app.ready.http)
  return `${addressOf({ ...http, port: Number(port) }, httpTls !== null)}${app.consoleLink?.(LINK_MS) ?? ''}`
}

/** `bridge`: the command that starts this program again. */
function welcome({ app, sandbox, receiver }: DemoParts, settings: Settings, bridge: string): string[] {
  const { http, ops } = app.ready
  const token = settings.adminToken ?? ''
  // A .env in this directory may name another address for the other commands.
  const isDefault = http === addressOf({ host: '127.0.0.1', port: PORTS.http }) && !existsSync(ENV_FILE)
  const target = `${isDefault ? '' : `--url ${http} `}--token ${token}`
  return [
    '',
    'disclosure-bridge demo: a synthetic market opens in a few seconds; its morning bursts are more than one page holds.',
    '',
    `  console           ${consoleLink(app, settings)}`,
    `                    (opens once, for ${LINK_MS / MINUTE_MS} minutes; another link: ${bridge} console ${target})`,
    `  API and streams   ${http}`,
    `  metrics, health   ${ops}/metrics  ${ops}/readyz`,
    `  sandbox upstream  ${sandbox.url}  (key ${sandbox.key}; its own truth: ${sandbox.adminUrl}/truth)`,
    `  webhook receiver  ${receiver.url}  (accepts every webhook)`,
    `  browser origins   ${settings.corsOrigins.join('  ')}`,
    `  token             ${token}`,
    '',
    'Try, in another terminal in this directory:',
    '',
    `  ${bridge} tail ${target} --tail 10 --importance high+`,
    `  curl -s -H 'Authorization: Bearer ${token}' '${http}/v1/disclosures?limit=3'`,
    `  ${bridge} webhooks add ${receiver.url} ${target}`,
    '',
    `Counted beside it: a plain poller that reads the newest ${PLAIN_POLLER.pageSize} items once a minute.`,
    'Ctrl-C stops it. What flows:',
    '',
  ]
}

async function showLive(parts: DemoParts, { clock, signal, stderr }: CommandContext): Promise<void> {
  const { app, sandbox } = parts
  const terminal = process.stderr.isTTY === true
  const plainPoller = new PlainPoller(PLAIN_POLLER, sandbox.marketNow())
  let before = 0
  for (let update = 0; !signal.aborted; update++) {
    await sleep(clock, LIVE_LINE_MS, signal)
    const { latest } = app.reader
    const line = liveLine(parts, plainPoller, latest - before)
    before = latest
    if (terminal) process.stderr.write(`\r${line.slice(0, (process.stderr.columns ?? 120) - 1)}\u001b[K`)
    else if (update % UPDATES_A_LINE === 0) stderr(line)
  }
  if (terminal) process.stderr.write('\n')
}

function liveLine({ app, sandbox, receiver }: DemoParts, plainPoller: PlainPoller, added: number): string {
  const nowMs = sandbox.marketNow()
  const { items } = sandbox.truth()
  const { gaps } = app.status()
  const webhooks = receiver.count === 0 ? [] : [`webhooks received ${receiver.count}`]
  return [
    `market ${new Date(nowMs).toISOString().slice(11, 19)}Z`,
    `upstream has shown ${items.length}`,
    `held and published ${app.reader.latest} (+${added})`,
    `a plain poller would have lost ${plainPoller.lostBy(nowMs, items)} by now`,
    `open gaps ${gaps?.length ?? 0}`,
    ...webhooks,
  ].join(' · ')
}
