/**
 * Finds the settings of a new topic that a cluster accepts. Its policy may refuse some, such as a small `segment.bytes`,
 * and most are not essential: the topic is then created without them.
 */
import { BridgeError } from '../../errors.ts'

/** Without these a topic could keep too little, or count a record as safe that is not: they are never left out. */
const ESSENTIAL = new Set(['cleanup.policy', 'retention.ms', 'min.insync.replicas', 'min.compaction.lag.ms'])
/** A refused value is halved while it is above this: the largest record should be as large as possible. */
const HALVED = new Map([['max.message.bytes', 2 * 1024 * 1024]])

/** What a cluster accepts of the wanted settings. */
export interface AcceptedSettings {
  settings: Readonly<Record<string, string>>
  /** Names of those that were left out or lowered. */
  changed: readonly string[]
}

/**
 * The wanted settings as far as the cluster accepts them. `refusalOf` returns why it refuses a topic with these settings;
 * null where it does not.
 * @throws BridgeError `kafka` when it refuses even the essential ones; what `refusalOf` throws
 */
export async function acceptedSettings(
  topic: string,
  wanted: Readonly<Record<string, string>>,
  refusalOf: (settings: Readonly<Record<string, string>>) => Promise<string | null>,
): Promise<AcceptedSettings> {
  if ((await refusalOf(wanted)) === null) return { settings: wanted, changed: [] }
  const entries = Object.entries(wanted)
  let settings = Object.fromEntries(entries.filter(([name]) => ESSENTIAL.has(name)))
  const refusal = await refusalOf(settings)
  if (refusal !== null) throw refusedTopic(topic, refusal)
  const changed: string[] = []
  for (const [name, value] of entries) {
    if (ESSENTIAL.has(name)) continue
    for (const tried of valuesToTry(name, value)) {
      if ((await refusalOf({ ...settings, [name]: tried })) !== null) continue
      settings = { ...settings, [name]: tried }
      break
    }
    if (settings[name] !== value) changed.push(name)
  }
  return { settings, changed }
}

/** `kafka`: the cluster does not create this topic, whatever is left out. */
export function refusedTopic(topic: string, refusal: string): BridgeError {
  return new BridgeError('kafka', `the cluster refuses to create ${topic}: ${refusal}`, {
    hint: 'Change the policy of the cluster for this prefix, or create the topics yourself with the settings of the operating guide (docs/run/on-kafka.md).',
  })
}

function valuesToTry(name: string, value: string): string[] {
  const least = HALVED.get(name)
  const values = [value]
  if (least !== undefined) {
    for (let lower = Number(value) / 2; lower >= least; lower /= 2) values.push(Math.floor(lower).toString())
  }
  return values
}
