/**
 * Runs `bridge demo`: an imitation of the upstream and every role of the bridge in one process, without settings. A
 * line of live figures shows what happens.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { App } from '../../app/app.ts'
import { startApp } from '../../app/app.ts'
import { sleep, systemChance } from '../../lifecycle/clock.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { ENV_FILE, readTextFile } from '../../settings/environment.ts'
import { loadSettings } from '../../settings/settings.ts'
import { command } from '../terminal/command.ts'
import type { CommandContext } from '../terminal/context.ts'

const HELP = `It takes no flags and needs no settings. BRIDGE_* of the environment apply (e.g. BRIDGE_HTTP_PORT and
BRIDGE_ADMIN_TOKEN), except upstream, Kafka, roles and data directory, which are its own; .env is not read.
It prints addresses, a token and commands to try. Ctrl-C stops it and deletes its data.`

const SPEC = {
  name: 'demo',
  does: 'a synthetic upstream and the whole product in one process (docs/use/sandbox.md)',
  help: HELP,
  flags: {},
} as const

/** Settings of a real bridge that the demo ignores: upstream, topics and files. */
const ITS_OWN =
  /^BRIDGE_(UPSTREAM_|KAFKA_|TOPIC_|ALL_RETENTION$|ROLES$|DATA_DIR$|BACKFILL$|GATEWAY_|CALENDAR_FILE$)/

/** Enough for a poll every second, with overflow fills and re-scans. */
const DEMO_WEEKLY_QUOTA = 1_000_000
const LIVE_LINE_MS = 1000
/** Without a terminal one line per this many updates. */
const UPDATES_A_LINE = 5

/** Runs the demo until the signal aborts. */
export const demoCommand = command(SPEC, async (_given, context) => {
  const { clock, signal } = context
  const { taken, left } = bridgeNames(context.env)
  if (left.length > 0) context.stderr(`settings that the demo ignores: ${left.join(', ')}`)
  const dataDir = mkdtempSync(join(tmpdir(), 'bridge-demo-'))
  const sandbox = await startSandbox(
    { scenario: 'demo', plan: 'advanced', weeklyQuota: DEMO_WEEKLY_QUOTA },
    { clock },
  )
  try {
    const settings = loadSettings(over(demoEnvironment(sandbox, dataDir), taken), noEnvFile)
    const app = await startApp(settings, { clock, chance: systemChance })
    context.stdout(JSON.stringify(app.ready))
    for (const line of welcome(app, sandbox, settings.adminToken ?? '')) context.stderr(line)
    await Promise.all([app.runUntil(signal), showLive(app, sandbox, context)])
  } finally {
    await sandbox.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
})

function demoEnvironment(sandbox: Sandbox, dataDir: string): Record<string, string> {
  return {
    BRIDGE_DATA_DIR: dataDir,
    BRIDGE_UPSTREAM_URL: sandbox.url,
    BRIDGE_UPSTREAM_KEY: sandbox.key,
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    BRIDGE_UPSTREAM_WEEKLY_QUOTA: DEMO_WEEKLY_QUOTA.toString(),
    BRIDGE_BACKFILL: 'PT1H',
    BRIDGE_HTTP_PORT: '0',
    BRIDGE_OPS_PORT: '0',
    BRIDGE_ADMIN_TOKEN: `demo-${randomBytes(12).toString('hex')}`,
    BRIDGE_SECRET_KEY: randomBytes(32).toString('hex'),
    // A receiver of one's own, on this machine, shall do to try webhooks.
    BRIDGE_WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
    BRIDGE_WEBHOOK_ALLOW_HTTP: 'true',
    BRIDGE_LOG_LEVEL: 'warn',
  }
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

function welcome(app: App, sandbox: Sandbox, token: string): string[] {
  const { http, ops } = app.ready
  const header = `-H 'Authorization: Bearer ${token}'`
  return [
    '',
    'disclosure-bridge demo: a synthetic market opens in a few seconds; its morning bursts are more than one page holds.',
    '',
    `  API and streams   ${http}`,
    `  metrics, health   ${ops}/metrics  ${ops}/readyz`,
    `  sandbox upstream  ${sandbox.url}  (key ${sandbox.key}; its own truth: ${sandbox.adminUrl}/truth)`,
    `  token             ${token}`,
    '',
    'Try, in another terminal:',
    '',
    `  npx --no-install bridge tail --url ${http} --token ${token} --tail 10 --importance high+`,
    `  curl -s ${header} '${http}/v1/disclosures?limit=3'`,
    `  npx --no-install bridge webhooks add http://127.0.0.1:9000/hook --url ${http} --token ${token}`,
    '',
    'Ctrl-C stops it. What flows:',
    '',
  ]
}

async function showLive(
  app: App,
  sandbox: Sandbox,
  { clock, signal, stderr }: CommandContext,
): Promise<void> {
  const terminal = process.stderr.isTTY === true
  let before = 0
  for (let update = 0; !signal.aborted; update++) {
    await sleep(clock, LIVE_LINE_MS, signal)
    const { latest } = app.reader
    const line = liveLine(app, sandbox, latest - before)
    before = latest
    if (terminal) process.stderr.write(`\r${line}\u001b[K`)
    else if (update % UPDATES_A_LINE === 0) stderr(line)
  }
  if (terminal) process.stderr.write('\n')
}

function liveLine(app: App, sandbox: Sandbox, added: number): string {
  const market = new Date(sandbox.marketNow()).toISOString().slice(11, 19)
  const { gaps, quota } = app.status()
  return [
    `market ${market}Z`,
    `upstream has shown ${sandbox.truth().items.length}`,
    `held and published ${app.reader.latest} (+${added})`,
    `open gaps ${gaps?.length ?? 0}`,
    `requests ${quota.used ?? 0}`,
  ].join(' · ')
}
