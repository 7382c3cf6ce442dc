/** The port between a cluster and what runs Kafka's Java classes: a Java of this machine, or a Docker engine. */
import type { KafkaVersion } from './versions.ts'

/** Name of the folder with the classes of a test. */
export const CLASSES = 'classes'

/** Signals that faults are made of. */
export type FaultSignal = 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'

/** A running Java process. */
export interface JavaProcess {
  signal(signal: FaultSignal): Promise<void>
  /** Resolves when the process is gone, however it ended. */
  readonly ended: Promise<void>
  isRunning(): boolean
  /** The end of what it wrote, for error messages. */
  output(): string
}

/** What can run Kafka. All paths are those of this machine. */
export interface KafkaRuntime {
  /** For messages, e.g. `Kafka 4.3.1 on Java 17.0.15`. */
  readonly description: string
  readonly version: KafkaVersion
  /**
   * A `bootstrap.checkpoint` that the storage tool wrote for a broker without SCRAM users, so that not every start pays
   * for the tool; null where there is none.
   */
  readonly checkpointFile: string | null
  /** The jars of the release, to compile classes against; null where they are only in an image. */
  readonly jars: readonly string[] | null
  /**
   * Runs a main class to its end. Only `folder` is sure to be reachable for it.
   * @throws Error with its output when it fails
   */
  run(folder: string, mainClass: string, args: readonly string[]): Promise<void>
  /**
   * Starts a main class. `name` tells the processes of one folder apart. Compiled classes in the folder `CLASSES` of
   * `folder` are on its class path. `javaOptions` override those for a short life.
   */
  start(
    folder: string,
    name: string,
    mainClass: string,
    args: readonly string[],
    javaOptions?: readonly string[],
  ): Promise<JavaProcess>
}
