/** Runs Kafka from its own image with testcontainers, on the same folders and ports as a local Java would. */
import { existsSync } from 'node:fs'
import type { GenericContainer } from 'testcontainers'
import type { JavaProcess, KafkaRuntime } from './runtime.ts'
import type { KafkaVersion } from './versions.ts'

type Testcontainers = typeof import('testcontainers')
type Environment = Readonly<Record<string, string | undefined>>

const CLASS_PATH = '/opt/kafka/libs/*'
const JVM_OPTIONS = ['-Xms64m', '-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
const OUTPUT_CHARACTERS = 4_000

/** The engine of this machine with the release's image, or the sentence that says what is missing. */
export async function dockerRuntime(
  version: KafkaVersion,
  env: Environment,
): Promise<KafkaRuntime | { missing: string }> {
  // The library takes most of a second to load; without a sign of an engine nobody pays for it.
  if (!env.DOCKER_HOST && !existsSync('/var/run/docker.sock')) return { missing: 'no Docker engine answers' }
  const library = await import('testcontainers')
  try {
    const client = await library.getContainerRuntimeClient()
    await client.image.pull(library.ImageName.fromString(version.image))
  } catch (error) {
    return { missing: `Docker is of no use (${error instanceof Error ? error.message : error})` }
  }
  return {
    description: `Kafka ${version.number} in Docker`,
    version,
    checkpointFile: null,
    jars: null,
    async run(folder, mainClass, args) {
      const { container, output } = prepared(library, version, folder, [mainClass, ...args])
      try {
        const started = await container.withWaitStrategy(library.Wait.forOneShotStartup()).start()
        await started.stop()
      } catch (error) {
        throw new Error(`${mainClass} failed:\n${output()}`, { cause: error })
      }
    },
    async start(folder, _name, mainClass, args, javaOptions = []) {
      const { container, output } = prepared(library, version, folder, [...javaOptions, mainClass, ...args])
      const started = await container.withWaitStrategy(library.Wait.forListeningPorts()).start()
      return containerProcess(library, started.getId(), output)
    },
  }
}

function prepared(
  library: Testcontainers,
  version: KafkaVersion,
  folder: string,
  program: readonly string[],
): { container: GenericContainer; output(): string } {
  let output = ''
  const container = new library.GenericContainer(version.image)
    .withNetworkMode('host')
    .withBindMounts([{ source: folder, target: folder, mode: 'rw' }])
    .withUser(`${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`)
    .withWorkingDir(folder)
    .withEntrypoint(['java'])
    .withCommand([...JVM_OPTIONS, ...version.javaOptions, '-cp', CLASS_PATH, ...program])
    .withLogConsumer((lines) => {
      lines.on('data', (line) => {
        output = (output + line).slice(-OUTPUT_CHARACTERS)
      })
    })
  return { container, output: () => output }
}

async function containerProcess(
  library: Testcontainers,
  id: string,
  output: () => string,
): Promise<JavaProcess> {
  const client = await library.getContainerRuntimeClient()
  const container = client.container.getById(id)
  let running = true
  const ended = container.wait().then(async () => {
    running = false
    await container.remove({ force: true })
  })
  return {
    ended,
    isRunning: () => running,
    output,
    async signal(signal) {
      await container.kill({ signal })
    },
  }
}
