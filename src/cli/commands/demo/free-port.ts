/** Finds out whether a port of this machine is free, so that the demo has the same addresses each time. */
import { createServer } from 'node:net'

/** The port if nothing listens there on 127.0.0.1, else 0, which lets the system choose. */
export function freePort(port: number): Promise<number> {
  const probe = createServer()
  return new Promise((resolve) => {
    probe.once('error', () => resolve(0))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(port)))
  })
}
