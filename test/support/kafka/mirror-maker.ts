/** Runs MirrorMaker 2, which copies topics from one cluster to another under the same names, and kills it. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findMirrorMaker } from './runtime/find-runtime.ts'
import { makeBrokerFolder } from './runtime/leftovers.ts'
import type { KafkaRuntime } from './runtime/runtime.ts'

const MIRROR_MAKER = 'org.apache.kafka.connect.mirror.MirrorMaker'

/** What is copied, and where to. Addresses are `host:port`. */
export interface MirrorOptions {
  /** What runs the brokers; MirrorMaker is of the same release. */
  runtime: KafkaRuntime
  from: readonly string[]
  to: readonly string[]
  /** Regular expressions of topic names. */
  topics: readonly string[]
  /** Tells several at the same clusters apart. */
  name: string
}

/** A running MirrorMaker. Disposing of it kills it and removes its folder. */
export interface Mirror extends AsyncDisposable {
  /** As kill -9 does; resolves when the process is gone. */
  kill(): Promise<void>
  /** The end of what it wrote, for error messages. */
  output(): string
}

/** Starts one. It copies nothing for some seconds more. */
export async function startMirror({ runtime, from, to, topics, name }: MirrorOptions): Promise<Mirror> {
  const folder = makeBrokerFolder()
  for (const [file, text] of Object.entries(runtime.version.files)) writeFileSync(join(folder, file), text)
  const file = join(folder, 'mirror.properties')
  writeFileSync(file, propertiesOf({ from, to, topics, name }))
  const java = await findMirrorMaker(runtime, process.env)
  const mirror = await java.start(folder, 'mirror', MIRROR_MAKER, [file])
  const kill = async (): Promise<void> => {
    if (mirror.isRunning()) await mirror.signal('SIGKILL')
    await mirror.ended
  }
  return {
    kill,
    output: () => mirror.output(),
    async [Symbol.asyncDispose]() {
      await kill()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** As docs/run/on-kafka.md recommends, for clusters of one broker, and quick. */
function propertiesOf({ from, to, topics, name }: Omit<MirrorOptions, 'runtime'>): string {
  const source = `source-${name}`
  const flow = `${source}->mirror`
  const settings: Record<string, string> = {
    clusters: `${source}, mirror`,
    [`${source}.bootstrap.servers`]: from.join(','),
    'mirror.bootstrap.servers': to.join(','),
    [`${flow}.enabled`]: 'true',
    [`${flow}.topics`]: topics.join(','),
    [`mirror->${source}.enabled`]: 'false',
    'replication.policy.class': 'org.apache.kafka.connect.mirror.IdentityReplicationPolicy',
    [`${source}.consumer.isolation.level`]: 'read_committed',
    'tasks.max': '2',
    // Searching the jars for plugins takes seconds.
    'plugin.discovery': 'service_load',
    'mirror.plugin.discovery': 'service_load',
    [`${source}.plugin.discovery`]: 'service_load',
    'sync.topic.acls.enabled': 'false',
    'emit.heartbeats.enabled': 'false',
    'emit.checkpoints.enabled': 'false',
    'refresh.topics.interval.seconds': '1',
    'replication.factor': '1',
    'offset-syncs.topic.replication.factor': '1',
    ...Object.fromEntries(
      ['config', 'offset', 'status'].map((kind) => [`${kind}.storage.replication.factor`, '1']),
    ),
    'offset.storage.partitions': '1',
    'status.storage.partitions': '1',
  }
  return Object.entries(settings)
    .map(([key, value]) => `${key} = ${value.replaceAll('\\', '\\\\')}\n`)
    .join('')
}
