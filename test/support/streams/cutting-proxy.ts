/** Proxies TCP and breaks a connection after an exact number of bytes from the server. */
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  /** e.g. `http://127.0.0.1:8080`. */
  readonly url: string
  /** Bytes that the next connection lets through from the server before it breaks. */
  cutAfter(bytes: number): void
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a proxy to the server on `port`. */
export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  let budget = Number.POSITIVE_INFINITY
  const open = new Set<Socket>()
  const server = createServer((client) => {
    let left = budget
    const upstream = connect(port, '127.0.0.1')
    const end = (): void => {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        end()
      })
    }
    client.on('data', (chunk) => upstream.write(chunk))
    upstream.on('data', (chunk) => {
      const whole = chunk.length <= left
      const part = chunk.subarray(0, left)
      left -= part.length
      if (whole) client.write(part)
      // The bytes before the cut arrive: only then is the connection broken.
      else client.end(part, () => upstream.resetAndDestroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAfter(bytes) {
      budget = bytes
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
