/** Lists every command of `bridge`, with the line of the help about it. A command is loaded only when it is needed. */
import type { CliCommand } from './terminal/command.ts'

/** A command that is not loaded yet. */
export interface CommandEntry {
  /** One line of the help. */
  does: string
  load: () => Promise<CliCommand>
}

/** The commands by name, in the order of the help. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  run: {
    does: 'run the roles of BRIDGE_ROLES against the configured upstream',
    load: async () => (await import('./commands/run.ts')).runCommand,
  },
  demo: {
    does: 'run a sandbox upstream and all roles in one process; needs no settings',
    load: async () => (await import('./commands/demo/demo.ts')).demoCommand,
  },
  sandbox: {
    does: 'run the synthetic upstream; --list shows its scenarios',
    load: async () => (await import('./commands/sandbox.ts')).runSandboxCommand,
  },
  init: {
    does: 'write a file .env with new keys, which every command in the directory reads',
    load: async () => (await import('./commands/init.ts')).initCommand,
  },
  doctor: {
    does: 'check settings, machine, upstream, key and a running bridge, with advice',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  repair: {
    does: 'make the Kafka topics of events and state agree again; asks before it writes',
    load: async () => (await import('./commands/repair.ts')).repairCommand,
  },
  plan: {
    does: 'show the planned polls of a week, with delays and risks; sends nothing',
    load: async () => (await import('./commands/plan.ts')).planCommand,
  },
  report: {
    does: 'show the items of the last days, and whether any are missing',
    load: async () => (await import('./commands/report.ts')).reportCommand,
  },
  backup: {
    does: 'back up the embedded log to a file, also while a bridge runs, and check it',
    load: async () => (await import('./commands/backup.ts')).backupCommand,
  },
  restore: {
    does: 'put a backup back and begin a new epoch, which every reader sees',
    load: async () => (await import('./commands/restore.ts')).restoreCommand,
  },
  status: {
    does: 'show the state of a running bridge: upstream, quota, log, replica, gaps',
    load: async () => (await import('./commands/status.ts')).statusCommand,
  },
  nodes: {
    does: 'list the processes that share the log of a running bridge',
    load: async () => (await import('./commands/operations/nodes.ts')).nodesCommand,
  },
  tail: {
    does: 'print the event stream of a running bridge',
    load: async () => (await import('./commands/tail.ts')).tailCommand,
  },
  get: {
    does: 'print one event by its id or sequence',
    load: async () => (await import('./commands/get.ts')).getCommand,
  },
  why: {
    does: 'tell why an announcement was late: its way from upstream to every reader',
    load: async () => (await import('./commands/operations/why.ts')).whyCommand,
  },
  rejected: {
    does: 'list the items that could not be read, or print them as they came',
    load: async () => (await import('./commands/rejected.ts')).rejectedCommand,
  },
  filters: {
    does: 'show which of the last events a filter would have matched',
    load: async () => (await import('./commands/filters.ts')).filtersCommand,
  },
  listen: {
    does: 'post its events to a local URL as signed webhooks',
    load: async () => (await import('./commands/listen.ts')).listenCommand,
  },
  console: {
    does: 'print a link that opens the console in a browser',
    load: async () => (await import('./commands/console.ts')).consoleCommand,
  },
  me: {
    does: 'show whose token the commands use, and what it may do',
    load: async () => (await import('./commands/tokens/me.ts')).meCommand,
  },
  tokens: {
    does: 'create, list and delete API tokens of a running bridge',
    load: async () => (await import('./commands/tokens/tokens.ts')).tokensCommand,
  },
  audit: {
    does: 'list who changed what, from where and when',
    load: async () => (await import('./commands/operations/audit.ts')).auditCommand,
  },
  admin: {
    does: 'pause polling, poll at once, retry a gap, move the lead, …',
    load: async () => (await import('./commands/admin/admin.ts')).adminCommand,
  },
  streams: {
    does: 'list the open streams of a running bridge, and end one',
    load: async () => (await import('./commands/operations/streams.ts')).streamsCommand,
  },
  webhooks: {
    does: 'create, change, list, test, replay and delete webhook endpoints of a running bridge',
    load: async () => (await import('./commands/webhooks/webhooks.ts')).webhooksCommand,
  },
  trigger: {
    does: 'send a synthetic event to a webhook endpoint',
    load: async () => (await import('./commands/trigger.ts')).triggerCommand,
  },
  completion: {
    does: 'print the completion of commands and flags for bash or zsh',
    load: async () => (await import('./commands/completion.ts')).completionOf(loadAll),
  },
  version: {
    does: 'print the version',
    load: async () => (await import('./commands/version.ts')).versionCommand,
  },
}

async function loadAll(): Promise<Record<string, CliCommand>> {
  const loaded = Object.entries(commands).map(async ([name, { load }]) => [name, await load()] as const)
  return Object.fromEntries(await Promise.all(loaded))
}
