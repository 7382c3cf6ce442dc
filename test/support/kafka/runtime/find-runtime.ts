/** Finds what can run Kafka on this machine: a Docker engine first, then Java with Maven's jars. */
import { dockerRuntime } from './docker-runtime.ts'
import { findJava, installedKafka, installedMirrorMaker } from './installation.ts'
import type { KafkaRuntime } from './runtime.ts'
import { kafkaVersion } from './versions.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** What was found, or what is missing, as one sentence that says what to install. */
export type FoundRuntime = { runtime: KafkaRuntime } | { missing: string }

/**
 * Looks for something that can run the release of `KAFKA_VERSION`; fetches it where it is not here yet.
 * @throws Error when Kafka can be run here but not be fetched, or the release is unknown
 */
export async function findRuntime(env: Environment): Promise<FoundRuntime> {
  const version = kafkaVersion(env.KAFKA_VERSION)
  const docker = await dockerRuntime(version, env)
  if (!('missing' in docker)) return { runtime: docker }
  const java = await findJava(env)
  if (!('missing' in java)) return { runtime: await installedKafka(version, java, env) }
  return {
    missing:
      `There is no Kafka to test with: ${docker.missing}, and ${java.missing}. Start Docker, or install Java 17 and ` +
      'Maven (Debian: apt-get install default-jre-headless maven), or set KAFKA_BROKERS to a broker for tests.',
  }
}

/**
 * What runs MirrorMaker of the same release: Docker's image has it, else Maven fetches it.
 * @throws Error when it cannot be fetched
 */
export async function findMirrorMaker(runtime: KafkaRuntime, env: Environment): Promise<KafkaRuntime> {
  if (runtime.jars === null) return runtime
  const java = await findJava(env)
  if ('missing' in java) throw new Error(java.missing)
  return installedMirrorMaker(runtime.version, java, env)
}
