/** Ends the processes that tests started when the test process ends: a test that fails half way leaves none behind. */
import type { ChildProcess } from 'node:child_process'

const running = new Set<ChildProcess>()

function killAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

/** Kills the child at the end of this process, unless it has ended by then. One listener of the process serves all of them. */
export function endWithTests(child: ChildProcess): void {
  if (running.size === 0) process.once('exit', killAll)
  running.add(child)
  child.once('close', () => {
    running.delete(child)
    if (running.size === 0) process.off('exit', killAll)
  })
}
