/** Runs Kafka from plain jars on a local Java: builds the command line and starts the child processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { noteProcess } from './leftovers.ts'
import { CLASSES, type JavaProcess, type KafkaRuntime } from './runtime.ts'
import type { KafkaVersion } from './versions.ts'

/** What a Java needs to run one release. */
export interface JavaSetup {
  version: KafkaVersion
  /** Path of the `java` program. */
  java: string
  /** Its version, e.g. `17.0.15`. */
  javaVersion: string
  /** Every jar; in an order that never changes, else the class-data archive does not fit. */
  jars: readonly string[]
  /** The class-data archive: read by every process, or written by a broker when it ends in peace. Null: none. */
  archive: { file: string; use: 'read' | 'write' } | null
  checkpointFile: string | null
}

interface RunJava extends JavaProcess {
  succeeded(): boolean
}

/** Small and quick to start: one collector thread, one compiler. Measured: docs/change/testing-with-kafka.md. */
const JVM_OPTIONS = [
  '-Xms64m',
  '-Xmx384m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Xshare:auto',
  '-Xlog:cds=off',
  '-Xlog:cds+dynamic=off',
]
const OUTPUT_CHARACTERS = 4_000

/** Kafka as child processes of this one. They end with it; if it is killed, `leftovers.ts` ends them. */
export function javaRuntime(setup: JavaSetup): KafkaRuntime {
  const { version, java, javaVersion, jars, archive, checkpointFile } = setup
  const reading = archive?.use === 'read' ? [`-XX:SharedArchiveFile=${archive.file}`] : []
  const writing = archive?.use === 'write' ? [`-XX:ArchiveClassesAtExit=${archive.file}`] : []
  const launch = (folder: string, name: string, more: readonly string[], program: readonly string[]) => {
    const options = [
      ...JVM_OPTIONS,
      ...version.javaOptions,
      ...reading,
      ...more,
      '-cp',
      [...jars, ...classesIn(folder)].join(':'),
      ...program,
    ]
    const outputFile = join(folder, `${name}.out`)
    const output = openSync(outputFile, 'a')
    const child = spawn(java, options, { cwd: folder, stdio: ['ignore', output, output] })
    closeSync(output)
    if (child.pid !== undefined) noteProcess(folder, name, child.pid)
    return javaProcess(child, outputFile)
  }
  return {
    description: `Kafka ${version.number} on Java ${javaVersion}`,
    version,
    checkpointFile,
    jars,
    async run(folder, mainClass, args) {
      const tool = launch(folder, 'tool', [], [mainClass, ...args])
      await tool.ended
      if (!tool.succeeded()) throw new Error(`${mainClass} failed:\n${tool.output()}`)
    },
    start: async (folder, name, mainClass, args, javaOptions = []) =>
      launch(folder, name, [...writing, ...javaOptions], [mainClass, ...args]),
  }
}

/** The class-data archive fits a class path that begins with the jars; a missing folder must not be on it. */
function classesIn(folder: string): string[] {
  const classes = join(folder, CLASSES)
  return existsSync(classes) ? [classes] : []
}

function javaProcess(child: ChildProcess, outputFile: string): RunJava {
  const killWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithUs)
  let failure = ''
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      process.off('exit', killWithUs)
      resolve()
    }
    child.once('exit', end)
    child.once('error', (error) => {
      failure = error.message
      end()
    })
  })
  return {
    ended,
    isRunning: () => child.pid !== undefined && child.exitCode === null && child.signalCode === null,
    succeeded: () => child.exitCode === 0,
    output: () => failure + readFileSync(outputFile, 'utf8').slice(-OUTPUT_CHARACTERS),
    async signal(signal) {
      child.kill(signal)
    },
  }
}
