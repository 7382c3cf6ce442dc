/** Tells which settings of the product the Helm chart leaves to its users, and which it gives itself. */
import { docOf, type SettingName, settingNames } from '../../../src/settings/schema.ts'

/** Given by the chart, besides access to Kafka. */
const OWN: readonly string[] = [
  'BRIDGE_ROLES',
  'BRIDGE_DATA_DIR',
  'BRIDGE_INSTALLATION',
  'BRIDGE_HTTP_HOST',
  'BRIDGE_OPS_HOST',
  'BRIDGE_DRAIN_TIMEOUT',
]
/** Ports are those of the probes; TLS ends before the pods; the last two are for commands. */
const LEFT_OUT: readonly string[] = [
  'BRIDGE_HTTP_PORT',
  'BRIDGE_OPS_PORT',
  'BRIDGE_HTTP_TLS_CERT_FILE',
  'BRIDGE_HTTP_TLS_KEY_FILE',
  'BRIDGE_URL',
  'BRIDGE_TOKEN',
]

const isSecret = (name: SettingName): boolean => docOf(name).isSecret === true

/** Those that `settings` of the values takes. */
export const freeSettings = settingNames.filter(
  (name) =>
    !OWN.includes(name) && !LEFT_OUT.includes(name) && !name.startsWith('BRIDGE_KAFKA_') && !isSecret(name),
)

/** Those that the chart gives as files of Secrets. */
export const secretSettings = settingNames.filter((name) => isSecret(name) && !LEFT_OUT.includes(name))
