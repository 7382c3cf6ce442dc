/** Measures the memory that a test process holds after garbage collection. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes of objects and of buffers that are still referred to. */
export async function liveBytes(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // The memory of a socket is released some ticks after it is closed.
  for (let round = 0; round < 3; round += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
