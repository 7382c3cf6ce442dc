/**
 * Defines every setting: name, type, default, meaning, whether it is a secret. Types, the start-up summary and
 * `docs/configuration.md` derive from it.
 */
import { z } from 'zod'
import { DAY_MS, HOUR_MS, WEEK_MS } from '../core/durations.ts'
import { isNet } from '../core/ip.ts'
import { planNames } from '../core/plans.ts'
import * as field from './fields.ts'

/** Documentation of a setting besides its type. */
export interface SettingDoc {
  meaning: string
  /** The default as one would write it; null where there is none. `shown`: the default in words where it is not a literal. */
  default: string | null
  shown?: string
  /** Never shown, and `NAME_FILE` may give it. */
  isSecret?: true
}

/** The docs of every schema member, by schema. */
const settingDocs = z.registry<SettingDoc>()

/** One setting: absent, or a text that its field reads. */
function setting<S extends z.ZodType>(schema: S, doc: SettingDoc): z.ZodOptional<S> {
  const optional = schema.optional()
  settingDocs.add(optional as z.ZodType, doc)
  return optional
}

const KAFKA_RETENTION = field.durationField.refine(
  (durationMs) => durationMs >= HOUR_MS,
  'must be at least PT1H (P1M is a month, PT1M a minute)',
)
/** Every business day of it is counted before the first request. */
const BACKFILL = field.durationField.refine(
  (durationMs) => durationMs <= 20 * 366 * DAY_MS,
  'must be at most P20Y: what half of the quota pays for is read, at most some weeks',
)
/** The log is searched this far back before an item is published, so that none is published twice. */
const ALL_RETENTION = field.durationField.refine(
  (durationMs) => durationMs >= WEEK_MS,
  'must be at least P7D',
)
const AUDIT_RETENTION = field.durationField.refine(
  (durationMs) => durationMs >= DAY_MS,
  'must be at least P1D',
)
/** A header can carry it. */
const TOKEN_TEXT = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/
const LOG_FORMATS = ['auto', 'json', 'text'] as const
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
/** Above every weekly quota there is. */
const MOST_UNITS = 1_000_000_000

/** The schema of the environment: every known name and no other. Values are text in, typed out. */
export const settingsSchema = z.object({
  BRIDGE_ROLES: setting(field.textField, {
    default: 'all',
    meaning:
      'Comma list of `poller`, `webhooks`, `feed`, `api`, `console`; `all` = those. `console` is the web console of the same process’s `api`, which it needs.',
  }),
  BRIDGE_DATA_DIR: setting(field.textField, {
    default: './data',
    meaning:
      "Directory of the embedded log, or of this node's copy of the Kafka log, which can be deleted. One process at a time.",
  }),
  BRIDGE_KAFKA_BROKERS: setting(field.listField(field.isBroker, 'host:port, such as kafka-1.example:9092'), {
    default: null,
    meaning:
      'Comma list of `host:port` of some brokers of one cluster (names or IPv4 addresses); unset = embedded log.',
  }),
  BRIDGE_KAFKA_TLS: setting(field.booleanField, {
    default: null,
    shown: '`true` with one of the files below, else `false`',
    meaning: 'TLS to the brokers.',
  }),
  BRIDGE_KAFKA_TLS_CA_FILE: setting(field.textField, {
    default: null,
    shown: 'the authorities of the system',
    meaning:
      'PEM file of the authorities that sign the brokers; a changed file is taken within seconds, by new connections.',
  }),
  BRIDGE_KAFKA_TLS_CERT_FILE: setting(field.textField, {
    default: null,
    meaning:
      'PEM file of the client certificate, where the brokers ask for one; a changed file is taken within seconds, by new connections. Together with its key.',
  }),
  BRIDGE_KAFKA_TLS_KEY_FILE: setting(field.textField, {
    default: null,
    meaning: 'PEM file of its key, without a passphrase.',
  }),
  BRIDGE_KAFKA_SASL_MECHANISM: setting(field.wordField(['plain', 'scram-sha-256', 'scram-sha-512']), {
    default: null,
    meaning:
      '`plain`, `scram-sha-256` or `scram-sha-512`, where the brokers ask for a password. Together with the next two.',
  }),
  BRIDGE_KAFKA_SASL_USERNAME: setting(field.textField, {
    default: null,
    meaning: 'User at the brokers.',
  }),
  BRIDGE_KAFKA_SASL_PASSWORD: setting(field.textField, {
    default: null,
    meaning: 'Its password. A changed `BRIDGE_KAFKA_SASL_PASSWORD_FILE` is taken within seconds.',
    isSecret: true,
  }),
  BRIDGE_TOPIC_PREFIX: setting(
    field.patternField(
      /^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/,
      '1 to 100 letters, digits, dots, dashes or underscores, with a letter or digit at both ends',
    ),
    {
      default: 'disclosures',
      meaning: 'First part of every topic, group and transactional id. Two bridges on one cluster need two.',
    },
  ),
  BRIDGE_TOPIC_REPLICATION: setting(field.integerField(1, 32_767), {
    default: null,
    shown: 'the smaller of 3 and the number of brokers',
    meaning:
      'Replication factor of topics when they are made; brokers that are named or hold a replica count while they are away too. Existing topics are never changed.',
  }),
  BRIDGE_TOPIC_RETENTION: setting(KAFKA_RETENTION, {
    default: 'P1Y',
    meaning:
      'How long category topics, gaps and rejected items are kept, when they are made. At least `PT1H`.',
  }),
  BRIDGE_ALL_RETENTION: setting(ALL_RETENTION, {
    default: null,
    shown: 'for ever',
    meaning:
      'How long events are kept: on Kafka in the topic of all events, set when it is made; on the embedded log in its file, from which older ones are removed. At least `P7D`.',
  }),
  BRIDGE_AUDIT_RETENTION: setting(AUDIT_RETENTION, {
    default: 'P400D',
    meaning:
      'How long the [audit journal](run/audit.md) keeps who changed what; on Kafka set when its topic is made. At least `P1D`.',
  }),
  BRIDGE_UPSTREAM_URL: setting(field.upstreamUrlField, {
    default: null,
    meaning: 'Base address of the upstream API, ending in `/v2`. Required with `poller`.',
  }),
  BRIDGE_UPSTREAM_KEY: setting(
    field.patternField(/^[\x21-\x7e]{1,500}$/, '1 to 500 printable characters without blanks'),
    {
      default: null,
      meaning:
        'API key, sent as `x-api-key`. Required with `poller`. A changed `BRIDGE_UPSTREAM_KEY_FILE` is taken within seconds.',
      isSecret: true,
    },
  ),
  BRIDGE_UPSTREAM_PLAN: setting(field.wordField(planNames), {
    default: 'free',
    meaning: 'Plan of the key: `free`, `lite`, `advanced`, `ultimate` or `enterprise`.',
  }),
  BRIDGE_UPSTREAM_RATE: setting(field.positiveField(10_000), {
    default: null,
    shown: 'by plan',
    meaning: 'Requests a second, where they differ from the plan.',
  }),
  BRIDGE_UPSTREAM_BURST: setting(field.integerField(1, 10_000), {
    default: null,
    shown: 'by plan',
    meaning: 'Requests at once, where they differ from the plan.',
  }),
  BRIDGE_UPSTREAM_WEEKLY_QUOTA: setting(field.integerField(1, MOST_UNITS), {
    default: null,
    shown: 'by plan',
    meaning: 'Requests a week, where they differ from the plan.',
  }),
  BRIDGE_UPSTREAM_PAGE_SIZE: setting(field.integerField(1, 200), {
    default: null,
    shown: 'by plan',
    meaning: 'Largest page, where it differs from the plan; the upstream takes 200 at most.',
  }),
  BRIDGE_UPSTREAM_QUOTA_RESET: setting(field.quotaResetField, {
    default: 'rolling',
    meaning:
      '`rolling` (safe under both readings of the quota) or a UTC moment of the week such as `MON 00:00Z`.',
  }),
  BRIDGE_UPSTREAM_NATIVE_WORD: setting(
    field.patternField(/^[a-z][A-Za-z0-9]{0,39}$/, 'a lower-case letter, then up to 39 letters or digits'),
    {
      default: 'native',
      meaning:
        'The word that the live service has in the place of `native`, in parameter names and (first letter upper case) in its category kind. The same on every node, with or without the role `poller`.',
    },
  ),
  BRIDGE_GATEWAY_WEEKLY_UNITS: setting(field.integerField(0, MOST_UNITS), {
    default: '0',
    meaning:
      'Units of the weekly quota kept for fund paths passed through `/v2` (plan `advanced` or above), at most half of it; 0 = off. The same on every node.',
  }),
  BRIDGE_BACKFILL: setting(BACKFILL, {
    default: 'P1D',
    meaning:
      'How far back the very first start reads, at most `P20Y`; `P0D`: nothing of its own. The first fills and re-scans look back for late items, and so find items of up to fifteen minutes before the start. What half of the quota left does not pay for stays an open gap.',
  }),
  BRIDGE_CALENDAR_FILE: setting(field.textField, {
    default: null,
    meaning: 'JSON file with overrides of the London calendar.',
  }),
  BRIDGE_HTTP_HOST: setting(field.hostField, {
    default: '127.0.0.1',
    meaning: 'Host of the public listener: API, streams and console.',
  }),
  BRIDGE_HTTP_PORT: setting(field.portField, { default: '8080', meaning: 'Its port; 0 picks a free one.' }),
  BRIDGE_HTTP_TLS_CERT_FILE: setting(field.textField, {
    default: null,
    shown: 'plain HTTP',
    meaning:
      'PEM file of the certificate with which the public listener speaks TLS, with its chain; a changed file is taken within seconds. Together with its key.',
  }),
  BRIDGE_HTTP_TLS_KEY_FILE: setting(field.textField, {
    default: null,
    meaning: 'PEM file of its key, without a passphrase.',
  }),
  BRIDGE_OPS_HOST: setting(field.hostField, {
    default: '127.0.0.1',
    meaning: 'Host of the listener for `/healthz`, `/readyz` and `/metrics`.',
  }),
  BRIDGE_OPS_PORT: setting(field.portField, { default: '9464', meaning: 'Its port; 0 picks a free one.' }),
  BRIDGE_ADMIN_TOKEN: setting(
    field.patternField(
      /^[\x21-\x7e][\x20-\x7e]{14,4094}[\x21-\x7e]$/,
      '16 to 4,096 printable ASCII characters, as a header can carry them, no blank at either end',
    ),
    {
      default: null,
      meaning:
        'The first token: tenant `default`, all scopes; it alone sees every tenant. Required with `api`, `feed` and `webhooks`.',
      isSecret: true,
    },
  ),
  BRIDGE_URL: setting(field.textField, {
    default: null,
    shown: '`BRIDGE_HTTP_HOST` and `BRIDGE_HTTP_PORT`',
    meaning:
      'Address of a running bridge, for commands such as `bridge tail`. The bridge itself does not read it.',
  }),
  BRIDGE_TOKEN: setting(
    field.patternField(TOKEN_TEXT, 'a token of a bridge, of printable ASCII characters'),
    {
      default: null,
      shown: '`BRIDGE_ADMIN_TOKEN`',
      meaning:
        'The token that such commands send: a reader needs no admin token. The bridge itself does not read it.',
      isSecret: true,
    },
  ),
  BRIDGE_SECRET_KEY: setting(field.patternField(/^.{32,}$/s, '32 or more characters'), {
    default: null,
    meaning:
      'Wraps webhook secrets and signs tickets; keys are derived from it. Required with `api`, `feed` and `webhooks`.',
    isSecret: true,
  }),
  BRIDGE_SECRET_KEY_OLD: setting(field.patternField(/^.{32,}$/s, '32 or more characters'), {
    default: null,
    meaning: 'The key before, or the one to come: what it wrapped is read too.',
    isSecret: true,
  }),
  BRIDGE_WEBHOOK_ALLOW_NETS: setting(field.listField(isNet, 'a net such as 10.0.0.0/8'), {
    default: null,
    meaning:
      'Comma list of nets that webhooks may reach although they are private or special; hosts inside them on any port, also by address or as `localhost`.',
  }),
  BRIDGE_WEBHOOK_ALLOW_HTTP: setting(field.booleanField, {
    default: 'false',
    meaning: 'Whether webhooks may go to plain http addresses; their own port 80 is then taken too.',
  }),
  BRIDGE_WEBHOOK_PORTS: setting(field.listField(field.isPort, 'a port from 1 to 65535'), {
    default: '443,8443',
    meaning: 'Ports that webhooks may go to.',
  }),
  BRIDGE_WEBHOOK_PROXY: setting(field.proxyField, {
    default: null,
    meaning:
      'http or https proxy that webhooks go through, by CONNECT to the checked address. The proxy of the environment (`HTTPS_PROXY`) is never used.',
    isSecret: true,
  }),
  BRIDGE_STREAM_MAX_CLIENTS: setting(field.integerField(1, 1_000_000), {
    default: '10000',
    meaning:
      'Most streams and pulls at once, WebSocket, SSE and `GET /v1/disclosures` together; one more is refused. Lowered, with a warning, where the process may open fewer files than this + 1,000.',
  }),
  BRIDGE_HTTP_RATE_PER_TOKEN: setting(field.integerField(0, 1_000_000), {
    default: '200',
    meaning:
      'Requests a second that a token may send on average, twenty seconds of them at once; more are answered 429. `BRIDGE_ADMIN_TOKEN` has no rate of its own. 0 = no limit.',
  }),
  BRIDGE_HTTP_RATE_PER_ADDRESS: setting(field.integerField(0, 1_000_000), {
    default: '500',
    meaning:
      'The same for a client address (an IPv6 network of 64 bits), with or without a token. Behind a proxy that `BRIDGE_TRUSTED_PROXIES` does not name, all clients have its address. 0 = no limit.',
  }),
  BRIDGE_TRUSTED_PROXIES: setting(field.listField(isNet, 'a net such as 10.0.0.0/8'), {
    default: null,
    meaning:
      'Comma list of nets of your reverse proxies: the client address is then the one that they put into `X-Forwarded-For`.',
  }),
  BRIDGE_CORS_ORIGINS: setting(
    field.listField(field.isOrigin, 'an exact origin such as https://desk.example'),
    {
      default: null,
      meaning: 'Comma list of exact browser origins that may call the API.',
    },
  ),
  BRIDGE_INSTALLATION: setting(
    field.patternField(/^[A-Za-z0-9._-]{1,100}$/, '1 to 100 letters, digits, dots, dashes or underscores'),
    {
      default: null,
      shown: 'the topic prefix',
      meaning:
        'Name of all processes that share one log, as the label of `bridge_info`: tells installations on one Prometheus apart.',
    },
  ),
  BRIDGE_DRAIN_TIMEOUT: setting(field.durationField, {
    default: 'PT30S',
    meaning: 'Budget for a clean stop.',
  }),
  BRIDGE_LOG_LEVEL: setting(field.wordField(LOG_LEVELS), {
    default: 'info',
    meaning: 'Least level that is logged: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.',
  }),
  BRIDGE_LOG_FORMAT: setting(field.wordField(LOG_FORMATS), {
    default: 'auto',
    meaning:
      'Form of the log on stderr: `json`, one object a line; `text` for a person; `auto`: text on a terminal, else JSON. Text is coloured on a terminal unless `NO_COLOR` is set.',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(field.otlpUrlField, {
    default: null,
    shown: 'no traces',
    meaning:
      'Address of a receiver of OTLP over HTTP, to which traces are sent at its path `/v1/traces`. This and the other names that begin with `OTEL_` are those of OpenTelemetry.',
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(field.otlpUrlField, {
    default: null,
    shown: 'from `OTEL_EXPORTER_OTLP_ENDPOINT`',
    meaning: 'The whole address to which traces are sent.',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: setting(field.otlpHeadersField, {
    default: null,
    meaning:
      'Headers of each export, such as a key of the receiver: comma list of `name=value`, values percent-encoded.',
    isSecret: true,
  }),
  OTEL_SERVICE_NAME: setting(
    field.patternField(/^[\x21-\x7e]{1,100}$/, '1 to 100 printable characters without blanks'),
    { default: 'disclosure-bridge', meaning: 'The name of the service in traces.' },
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(field.shareField, {
    default: '1',
    meaning: 'Share of polls that are traced, with all that follows from them: 0 to 1.',
  }),
})

/** The name of a setting. */
export type SettingName = keyof typeof settingsSchema.shape

/** Every setting's name, in the order of the docs. */
export const settingNames = Object.keys(settingsSchema.shape) as SettingName[]

/** The doc of a setting. */
export function docOf(name: SettingName): SettingDoc {
  const doc = settingDocs.get(settingsSchema.shape[name])
  if (doc === undefined) throw new TypeError(`${name} has no doc`)
  return doc
}

/** Every value as its field read it; absent where it is neither given nor has a default. */
export type SettingValues = z.output<typeof settingsSchema>
