/**
 * Reads the settings of a process once, checks them together and returns them grouped and frozen.
 */
import { didYouMean } from '../core/near.ts'
import { type PlanLimits, type PlanName, plans } from '../core/plans.ts'
import { BridgeError, type FieldError, fieldPath } from '../errors.ts'
import type { QuotaReset } from '../governor/quota/ledger.ts'
import type { TraceSettings } from '../obs/tracing.ts'
import { doubtsOf } from './doubts.ts'
import { collectTexts, type FoundSettings, type ReadFile, readTextFile } from './environment.ts'
import { splitList } from './fields.ts'
import { type ExaminedKafka, examineKafka } from './kafka.ts'
import { readCertificateWithKey } from './pem.ts'
import { docOf, type SettingName, type SettingValues, settingNames, settingsSchema } from './schema.ts'

/** The roles of this version; `all` means these. */
export const roleNames = ['poller', 'webhooks', 'feed', 'api', 'console'] as const
export type RoleName = (typeof roleNames)[number]

/** The upstream plan with its overrides. */
export interface UpstreamPlan extends PlanLimits {
  name: PlanName
  quotaReset: QuotaReset
}

/** Address, key and plan of the upstream. */
export interface UpstreamSettings {
  /** Ends in `/v2`, without a slash after it. */
  url: string
  key: string
  /** `BRIDGE_UPSTREAM_KEY_FILE`, which is read again while the process runs; absent: the key was given as text. */
  keyFile?: string
  plan: UpstreamPlan
}

/** Everything that can be set. Durations in milliseconds; null = not given. */
export type Settings = ReturnType<typeof groupSettings>

/** Settings that may be partly wrong. */
export interface Examined {
  /** All missing and wrong ones; empty when the bridge can start. */
  errors: readonly FieldError[]
  /** With the default in place of each wrong one: for diagnosis, not to run on. */
  settings: Readonly<Settings>
}

/**
 * Reads every setting from the environment and a `.env` file beside it.
 * @throws BridgeError `settings` that lists everything wrong at once in `errors`
 */
export function loadSettings(
  env: Readonly<Record<string, string | undefined>>,
  readFile: ReadFile = readTextFile,
): Readonly<Settings> {
  const { settings, errors } = examineSettings(env, readFile)
  if (errors.length > 0) throw settingsError(errors)
  return settings
}

/**
 * The same, for commands that go on although something is wrong.
 * @throws BridgeError `settings` only when `.env` is there but cannot be read
 */
export function examineSettings(
  env: Readonly<Record<string, string | undefined>>,
  readFile: ReadFile = readTextFile,
): Examined {
  const found = collectTexts(env, readFile)
  const { values, errors } = readValues(found)
  const roles = readRoles(values.BRIDGE_ROLES ?? 'all', errors)
  checkRequired(values, roles, errors)
  checkGateway(values, roles, errors)
  checkPorts(values, errors)
  const httpTls = readHttpTls(values, errors, readFile)
  const wrong = new Set(errors.map(({ field }) => field))
  const kafka = examineKafka(values, found, wrong, readFile)
  errors.push(...kafka.errors)
  return { errors, settings: deepFreeze(groupSettings(values, roles, { ...kafka, httpTls }, found)) }
}

function readValues(found: FoundSettings): { values: SettingValues; errors: FieldError[] } {
  const errors = [...found.errors]
  const texts: Partial<Record<SettingName, string>> = {}
  for (const name of settingNames) {
    const text = found.texts.get(name) ?? docOf(name).default
    if (text !== null) texts[name] = text
  }
  const result = settingsSchema.safeParse(texts)
  if (result.success) return { values: result.data, errors }
  for (const issue of result.error.issues) {
    const name = settingNames.find((candidate) => candidate === issue.path[0])
    const file = name && found.files.get(name)
    const message = file === undefined ? issue.message : `${issue.message} (read from ${file})`
    errors.push({ field: fieldPath(issue.path), message })
    if (name === undefined) continue
    const fallback = docOf(name).default
    if (fallback === null) delete texts[name]
    else texts[name] = fallback
  }
  return { values: settingsSchema.parse(texts), errors }
}

function readRoles(text: string, errors: FieldError[]): RoleName[] {
  const field = 'BRIDGE_ROLES'
  const wanted = splitList(text)
  for (const name of wanted) {
    if (name !== 'all' && !roleNames.some((role) => role === name)) {
      const near = didYouMean(name, [...roleNames, 'all'])
      errors.push({ field, message: `names an unknown role${near}; roles are ${roleNames.join(', ')}, all` })
    }
  }
  if (wanted.length === 0)
    errors.push({ field, message: `must name at least one of ${roleNames.join(', ')}, or be all` })
  const roles = roleNames.filter((role) => wanted.includes('all') || wanted.includes(role))
  if (roles.includes('console') && !roles.includes('api')) {
    const message =
      'names console without api: the console is a page over the API of its own process; add api'
    errors.push({ field, message })
  }
  return roles
}

/** Settings that a role requires. */
const REQUIRED: readonly { roles: readonly RoleName[]; name: SettingName; hint: string }[] = [
  {
    roles: ['poller'],
    name: 'BRIDGE_UPSTREAM_URL',
    hint: 'the base address of the upstream API, ending in /v2',
  },
  { roles: ['poller'], name: 'BRIDGE_UPSTREAM_KEY', hint: 'its API key' },
  { roles: ['webhooks', 'feed', 'api'], name: 'BRIDGE_ADMIN_TOKEN', hint: '16 or more random characters' },
  { roles: ['webhooks', 'feed', 'api'], name: 'BRIDGE_SECRET_KEY', hint: '32 or more random characters' },
]

function checkRequired(values: SettingValues, roles: readonly RoleName[], errors: FieldError[]): void {
  for (const { roles: needing, name, hint } of REQUIRED) {
    const needed = needing.filter((role) => roles.includes(role))
    const missing =
      values[name] === undefined && !errors.some(({ field }) => field === name || field === `${name}_FILE`)
    if (needed.length > 0 && missing) {
      errors.push({ field: name, message: `is required ${roleWords(needed)}: ${hint}` })
    }
  }
}

/** At least half of the quota stays reserved for polls. */
function checkGateway(values: SettingValues, roles: readonly RoleName[], errors: FieldError[]): void {
  const { weeklyQuota } = upstreamPlan(values)
  const most = Math.floor(weeklyQuota / 2)
  if (!roles.includes('poller') || given(values.BRIDGE_GATEWAY_WEEKLY_UNITS) <= most) return
  const message = `must be at most ${most}, half of the weekly quota of ${weeklyQuota}: the rest is for polls`
  errors.push({ field: 'BRIDGE_GATEWAY_WEEKLY_UNITS', message })
}

function roleWords(roles: readonly RoleName[]): string {
  if (roles.length === 1) return `with the role ${roles[0]}`
  return `when any of these roles is enabled: ${roles.join(', ')}`
}

/** Both listeners belong to this process. */
function checkPorts(values: SettingValues, errors: FieldError[]): void {
  const { BRIDGE_HTTP_PORT: http, BRIDGE_OPS_PORT: ops } = values
  if (http !== ops || http === 0) return
  const hosts = [values.BRIDGE_HTTP_HOST, values.BRIDGE_OPS_HOST]
  const areLocal = hosts.every((host) => host === 'localhost' || host === '127.0.0.1')
  if (hosts[0] !== hosts[1] && !areLocal && !hosts.includes('0.0.0.0') && !hosts.includes('::')) return
  const message = 'must differ from BRIDGE_HTTP_PORT: this process needs a port for each of its two listeners'
  errors.push({ field: 'BRIDGE_OPS_PORT', message })
}

/** Paths of PEM files. */
interface HttpTls {
  certFile: string
  keyFile: string
}

/** The files of the listener's certificate, which are read again at each change; null without them. */
function readHttpTls(values: SettingValues, errors: FieldError[], readFile: ReadFile): HttpTls | null {
  const cert = { field: 'BRIDGE_HTTP_TLS_CERT_FILE', path: values.BRIDGE_HTTP_TLS_CERT_FILE }
  const key = { field: 'BRIDGE_HTTP_TLS_KEY_FILE', path: values.BRIDGE_HTTP_TLS_KEY_FILE }
  if (cert.path === undefined && key.path === undefined) return null
  readCertificateWithKey({ cert, key }, readFile, errors)
  if (cert.path !== undefined && key.path !== undefined) return { certFile: cert.path, keyFile: key.path }
  const [absent, there] = cert.path === undefined ? [cert, key] : [key, cert]
  errors.push({ field: absent.field, message: `is required with ${there.field}` })
  return null
}

/** Whether the error is about a setting that is required and absent. */
export function isMissing({ message }: FieldError): boolean {
  return message.startsWith('is required ')
}

function settingsError(errors: readonly FieldError[]): BridgeError {
  const [missing, wrong] = [errors.filter(isMissing), errors.filter((error) => !isMissing(error))]
  const summary = [listed(missing, 'missing'), listed(wrong, 'wrong')].filter((part) => part !== '')
  return new BridgeError('settings', summary.join('; '), {
    errors,
    hint: 'Every setting, its default and its meaning: docs/configuration.md',
  })
}

/** `A, B are missing`; empty for no errors. */
function listed(errors: readonly FieldError[], what: string): string {
  const names = [...new Set(errors.map(({ field }) => field))]
  return names.length === 0 ? '' : `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} ${what}`
}

function groupSettings(
  values: SettingValues,
  roles: readonly RoleName[],
  { kafka, warnings, httpTls }: ExaminedKafka & { httpTls: HttpTls | null },
  found: FoundSettings,
) {
  const nativeWord = given(values.BRIDGE_UPSTREAM_NATIVE_WORD)
  const upstream = upstreamSettings(values, found.files.get('BRIDGE_UPSTREAM_KEY'))
  const plan = upstreamPlan(values)
  const gatewayUnits = given(values.BRIDGE_GATEWAY_WEEKLY_UNITS)
  return {
    roles,
    dataDir: given(values.BRIDGE_DATA_DIR),
    /** null: the embedded log. */
    kafka,
    /** How long the embedded log keeps events; null: for ever, or with Kafka, where the topic has a retention. */
    embeddedRetentionMs: kafka === null ? (values.BRIDGE_ALL_RETENTION ?? null) : null,
    auditRetentionMs: given(values.BRIDGE_AUDIT_RETENTION),
    /** null without the role `poller`. */
    upstream,
    /** The upstream plan, also without an upstream. */
    plan,
    /**
     * The upstream's own name for what this product calls `native`, the same on every node: `word` as in parameter names,
     * `kind` with a capital first letter as in its categories.
     */
    native: { word: nativeWord, kind: nativeWord.charAt(0).toUpperCase() + nativeWord.slice(1) },
    /** Units per week for proxied fund requests; 0: off. */
    gatewayUnits,
    backfillMs: given(values.BRIDGE_BACKFILL),
    calendarFile: values.BRIDGE_CALENDAR_FILE ?? null,
    http: { host: given(values.BRIDGE_HTTP_HOST), port: given(values.BRIDGE_HTTP_PORT) },
    /** The files of the public listener's certificate; null: plain HTTP. */
    httpTls,
    ops: { host: given(values.BRIDGE_OPS_HOST), port: given(values.BRIDGE_OPS_PORT) },
    /** Where commands find a running bridge, and their token; null: from the listener's settings and the admin token. */
    url: values.BRIDGE_URL ?? null,
    token: values.BRIDGE_TOKEN ?? null,
    /** null without `api`, `feed` and `webhooks`. */
    adminToken: values.BRIDGE_ADMIN_TOKEN ?? null,
    /** null without `api`, `feed` and `webhooks`. */
    secretKey: values.BRIDGE_SECRET_KEY ?? null,
    /** The previous or the next key; secrets encrypted with it can be read. */
    oldSecretKey: values.BRIDGE_SECRET_KEY_OLD ?? null,
    /** What webhooks may reach besides public hosts on 443 and 8443. `proxy` null: direct connections. */
    webhooks: {
      allowNets: values.BRIDGE_WEBHOOK_ALLOW_NETS ?? [],
      allowHttp: given(values.BRIDGE_WEBHOOK_ALLOW_HTTP),
      ports: given(values.BRIDGE_WEBHOOK_PORTS).map(Number),
      proxy: values.BRIDGE_WEBHOOK_PROXY ?? null,
    },
    streamMaxClients: given(values.BRIDGE_STREAM_MAX_CLIENTS),
    /** Requests a second on average; null: no limit. */
    requestRates: {
      perToken: given(values.BRIDGE_HTTP_RATE_PER_TOKEN) || null,
      perAddress: given(values.BRIDGE_HTTP_RATE_PER_ADDRESS) || null,
    },
    /** Nets whose `X-Forwarded-For` is believed. */
    trustedProxies: values.BRIDGE_TRUSTED_PROXIES ?? [],
    corsOrigins: values.BRIDGE_CORS_ORIGINS ?? [],
    drainTimeoutMs: given(values.BRIDGE_DRAIN_TIMEOUT),
    installation: values.BRIDGE_INSTALLATION ?? given(values.BRIDGE_TOPIC_PREFIX),
    logLevel: given(values.BRIDGE_LOG_LEVEL),
    logFormat: given(values.BRIDGE_LOG_FORMAT),
    /** Where traces are sent; null: there are none. */
    traces: traceSettings(values),
    /** For the start-up log: every setting with a value, secrets as `(set)`. */
    summary: summarise(found),
    /** Texts that must never be written to a log. */
    secrets: secretsOf(found),
    /** Sentences for the start-up log, e.g. about a setting that has no effect beside another. */
    warnings: [...warnings, ...doubtsOf({ roles, kafka, upstream, plan, gatewayUnits })],
  }
}

/** A value that the schema's default guarantees. */
function given<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError('a setting has neither a value nor a default')
  return value
}

function upstreamSettings(values: SettingValues, keyFile: string | undefined): UpstreamSettings | null {
  const { BRIDGE_UPSTREAM_URL: url, BRIDGE_UPSTREAM_KEY: key } = values
  if (url === undefined || key === undefined) return null
  return { url, key, ...(keyFile !== undefined && { keyFile }), plan: upstreamPlan(values) }
}

function traceSettings(values: SettingValues): TraceSettings | null {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole } = values
  const url = whole ?? (base === undefined ? undefined : `${base}/v1/traces`)
  if (url === undefined) return null
  return {
    url,
    headers: values.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    service: given(values.OTEL_SERVICE_NAME),
    ratio: given(values.OTEL_TRACES_SAMPLER_ARG),
  }
}

function upstreamPlan(values: SettingValues): UpstreamPlan {
  const name = given(values.BRIDGE_UPSTREAM_PLAN)
  return {
    name,
    ratePerSecond: values.BRIDGE_UPSTREAM_RATE ?? plans[name].ratePerSecond,
    burst: values.BRIDGE_UPSTREAM_BURST ?? plans[name].burst,
    weeklyQuota: values.BRIDGE_UPSTREAM_WEEKLY_QUOTA ?? plans[name].weeklyQuota,
    pageSize: values.BRIDGE_UPSTREAM_PAGE_SIZE ?? plans[name].pageSize,
    quotaReset: given(values.BRIDGE_UPSTREAM_QUOTA_RESET),
  }
}

function summarise(found: FoundSettings): Record<string, string> {
  const summary: Record<string, string> = {}
  for (const name of settingNames) {
    const doc = docOf(name)
    const text = found.texts.get(name) ?? doc.default
    if (text !== null) summary[name] = doc.isSecret === true ? '(set)' : text
  }
  return summary
}

function secretsOf(found: FoundSettings): string[] {
  return settingNames
    .filter((name) => docOf(name).isSecret === true)
    .flatMap((name) => found.texts.get(name) ?? [])
}

function deepFreeze<T extends object>(value: T): Readonly<T> {
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) deepFreeze(member)
  }
  return Object.freeze(value)
}
