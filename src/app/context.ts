/**
 * Builds the context that every start-up step receives: settings, clock, logger, metrics, the tasks to run so far, and
 * the clean-up stack.
 */
import type { ApiParts } from '../api/api.ts'
import type { Calendar } from '../core/calendar/calendar.ts'
import { VERSION } from '../core/version.ts'
import type { Chance, Clock } from '../lifecycle/clock.ts'
import { nodeId } from '../lifecycle/node-id.ts'
import { divideFiles, type FileBudget, openFilesLimit } from '../lifecycle/open-files.ts'
import type { ReleaseStack } from '../lifecycle/release-stack.ts'
import { onSignal } from '../lifecycle/signals.ts'
import type { Role } from '../lifecycle/supervisor.ts'
import type { FaultHooks } from '../log/fault-hooks.ts'
import { LogLevel } from '../obs/log-level.ts'
import { createLogger, type LogForm, type Logger } from '../obs/logger.ts'
import { createMetrics, type Metrics } from '../obs/metrics.ts'
import type { TracingParts } from '../obs/otlp.ts'
import type { Tracing } from '../obs/tracing.ts'
import { loadCalendar } from '../settings/calendar-file.ts'
import { fileNeedsOf } from '../settings/file-needs.ts'
import type { RoleName, Settings } from '../settings/settings.ts'

/** What the product takes from outside besides its settings. */
export interface AppParts {
  clock: Clock
  chance: Chance
  /** Fault-injection hook of the log on Kafka, for tests; absent in production. */
  faultHooks?: FaultHooks
  /** What the doctor of the command line finds on this node, for `GET /v1/doctor`. */
  doctor?: NonNullable<ApiParts['doctor']>
  /** The terminal that the log is written to; absent where stderr is none. */
  terminal?: { hasColour: boolean }
}

/** Passed from step to step. */
export interface StartContext extends AppParts {
  settings: Settings
  /** Texts that the log never shows; a secret that is read later is added before it is used. */
  secrets: string[]
  logger: Logger
  logLevel: LogLevel
  metrics: Metrics
  /** Null where traces are off. */
  tracing: Tracing | null
  calendar: Calendar
  /** The files that each part of this process may open. */
  files: FileBudget
  /** Each step pushes the release of what it has opened, so that a start that fails later closes it. */
  stack: ReleaseStack
  /** Each step adds what runs as long as the process does. */
  roles: Role[]
  /** Aborts when the process begins to stop. */
  stopping: AbortSignal
}

/** The context at the beginning of a start. What it opens goes on the stack. */
export async function startContext(
  settings: Settings,
  parts: AppParts,
  { stack, stopping }: { stack: ReleaseStack; stopping: AbortSignal },
): Promise<StartContext> {
  const secrets = [...settings.secrets]
  const form = logForm(settings.logFormat, parts.terminal ?? null)
  const logger = createLogger({ level: settings.logLevel, secrets, form })
  const metrics = createMetrics({ version: VERSION, installation: settings.installation })
  const calendar = loadCalendar(settings.calendarFile)
  for (const warning of settings.warnings) logger.warn('settings.warning', { warning })
  logger.info('settings.read', { settings: settings.summary })
  const files = divideFiles(openFilesLimit(), fileNeedsOf(settings))
  const { warning } = files
  if (warning !== null) logger.warn('streams.capacity_lowered', { maxClients: files.streams, warning })
  const tracing = await openTracing(settings, { ...parts, metrics, logger })
  if (tracing !== null) stack.push('traces', () => tracing.close())
  const logLevel = new LogLevel({ level: logger, logger, clock: parts.clock })
  // A process without the role `api` takes no other order.
  const unsubscribe = onSignal('SIGUSR2', () => logLevel.toggleDebug())
  stack.push('the level of the log', () => {
    unsubscribe()
    logLevel.close()
  })
  return {
    ...parts,
    settings,
    secrets,
    logger,
    logLevel,
    metrics,
    tracing,
    calendar,
    files,
    stack,
    roles: [],
    stopping,
  }
}

/** Null where traces are off: then nothing of OpenTelemetry is loaded. */
async function openTracing(
  { traces, installation }: Settings,
  parts: Omit<TracingParts, 'settings' | 'about'>,
): Promise<Tracing | null> {
  if (traces === null) return null
  const { startTracing } = await import('../obs/otlp.ts')
  const about = {
    'service.version': VERSION,
    'service.instance.id': nodeId(),
    'service.namespace': installation,
  }
  return startTracing({ ...parts, settings: traces, about })
}

function logForm(format: Settings['logFormat'], terminal: { hasColour: boolean } | null): LogForm {
  if (format === 'json' || (format === 'auto' && terminal === null)) return 'json'
  return terminal?.hasColour === true ? 'coloured' : 'text'
}

/** Whether this process has one of these roles. */
export function hasRole({ settings }: StartContext, ...names: RoleName[]): boolean {
  return settings.roles.some((role) => names.includes(role))
}
