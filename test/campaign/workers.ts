/** Plays simulated worlds in several processes, each one world at a time. */
import { type ChildProcess, fork } from 'node:child_process'

/** What a process sends back for a world: the result, or why there is none. */
export type WorkerAnswer<R> = { played: R } | { failure: string }

/** Plays every case on this many processes of that file. Calls `take` with each result when it comes. */
export async function playOnWorkers<C extends object, R>(
  { child: file, workers }: { child: string; workers: number },
  cases: readonly C[],
  take: (one: C, answer: WorkerAnswer<R>) => void,
): Promise<void> {
  const waiting = [...cases]
  const work = async (): Promise<void> => {
    const child = fork(file, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const kill = (): void => void child.kill('SIGKILL')
    process.once('exit', kill)
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        take(next, await ask<R>(child, next))
      }
    } finally {
      process.off('exit', kill)
      child.disconnect()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
}

/** Answers each case that the parent process sends. */
export function answerCases<C, R>(play: (one: C) => R | Promise<R>): void {
  process.on('message', async (one: C) => {
    try {
      process.send?.({ played: await play(one) })
    } catch (error) {
      const failure = error instanceof Error ? (error.stack ?? error.message) : String(error)
      process.send?.({ failure })
    }
  })
}

function ask<R>(child: ChildProcess, one: object): Promise<WorkerAnswer<R>> {
  return new Promise((done) => {
    const onExit = (): void => done({ failure: 'the worker ended' })
    child.once('exit', onExit)
    child.once('message', (message) => {
      child.off('exit', onExit)
      done(message as WorkerAnswer<R>)
    })
    child.send(one)
  })
}
