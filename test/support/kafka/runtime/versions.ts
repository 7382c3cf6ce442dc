/** Lists the Kafka releases that the tests run against, and chooses one by `KAFKA_VERSION`. */

/** One release. */
export interface KafkaVersion {
  /** The exact release, e.g. `4.3.1`. */
  number: string
  /** The line it stands for, as the campaign's `--kafka` and `KAFKA_VERSION` name it, e.g. `4`. */
  line: string
  /** Maven coordinates (`group:artifact:version`) whose runtime dependencies are the class path. */
  coordinates: readonly string[]
  /** The same for MirrorMaker. */
  mirrorMaker: readonly string[]
  /** The image with the same release, for a Docker engine. */
  image: string
  /** Settings that only this line has. */
  properties: Readonly<Record<string, string>>
  /** Files that must lie in the folder where Java runs, by name, and the options that point there. */
  files: Readonly<Record<string, string>>
  javaOptions: readonly string[]
}

const ERRORS_TO_CONSOLE = [
  'log4j.rootLogger=ERROR, console',
  'log4j.appender.console=org.apache.log4j.ConsoleAppender',
  'log4j.appender.console.layout=org.apache.log4j.PatternLayout',
  'log4j.appender.console.layout.ConversionPattern=%p %m%n',
].join('\n')

const VERSIONS: readonly KafkaVersion[] = [
  {
    number: '4.3.1',
    line: '4',
    coordinates: [
      'org.apache.kafka:kafka_2.13:4.3.1',
      'org.apache.logging.log4j:log4j-core:2.25.1',
      'org.apache.logging.log4j:log4j-slf4j-impl:2.25.1',
    ],
    mirrorMaker: [
      'org.apache.kafka:connect-mirror:4.3.1',
      'org.apache.kafka:connect-runtime:4.3.1',
      'org.apache.logging.log4j:log4j-core:2.25.1',
      'org.apache.logging.log4j:log4j-slf4j-impl:2.25.1',
    ],
    image: 'apache/kafka:4.3.1',
    properties: {
      'share.coordinator.state.topic.replication.factor': '1',
      'share.coordinator.state.topic.min.isr': '1',
    },
    files: {},
    javaOptions: [],
  },
  {
    number: '3.9.1',
    line: '3.9',
    coordinates: ['org.apache.kafka:kafka_2.13:3.9.1', 'org.slf4j:slf4j-reload4j:1.7.36'],
    mirrorMaker: [
      'org.apache.kafka:connect-mirror:3.9.1',
      'org.apache.kafka:connect-runtime:3.9.1',
      'org.slf4j:slf4j-reload4j:1.7.36',
    ],
    image: 'apache/kafka:3.9.1',
    properties: {},
    // Without a file this line's logger says nothing, not even why a broker does not start.
    files: { 'log4j.properties': ERRORS_TO_CONSOLE },
    javaOptions: ['-Dlog4j.configuration=file:log4j.properties'],
  },
]

/**
 * The release that `wanted` names, by its line or exactly; the newest without a name.
 * @throws Error naming the known ones
 */
export function kafkaVersion(wanted: string | undefined): KafkaVersion {
  const [newest] = VERSIONS
  const found =
    wanted === undefined || wanted === ''
      ? newest
      : VERSIONS.find(({ number, line }) => wanted === number || wanted === line)
  if (found !== undefined) return found
  const known = VERSIONS.map(({ number, line }) => `${line} (${number})`).join(', ')
  throw new Error(`KAFKA_VERSION is ${wanted}; the tests know ${known}`)
}
