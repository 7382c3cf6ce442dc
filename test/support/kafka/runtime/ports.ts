/**
 * Allocates ports that a server keeps over restarts, outside the system's ephemeral range, which outgoing connections
 * use.
 */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Below the ranges from which Linux and macOS give ports to outgoing connections. */
const LOWEST = 15_000
const HIGHEST = 32_000
const TRIES = 50

/**
 * Different ports of 127.0.0.1 that nobody listens on at the moment, and that no other process of the tests is given
 * until this one ends: a broker opens its ports seconds after they were drawn.
 * @throws Error when too many that are drawn at random are taken
 */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>()
  for (let tries = 0; held.size < count; tries++) {
    if (tries > count + TRIES) throw new Error(`No free ports found between ${LOWEST} and ${HIGHEST}`)
    const port = randomInt(LOWEST, HIGHEST)
    const server = await listening(port)
    if (server === null) continue
    if (await reserve(port)) held.set(port, server)
    else server.close()
  }
  await Promise.all([...held.values()].map((server) => once(server.close(), 'close')))
  return [...held.keys()]
}

function listening(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(null))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

/** A UDP socket of the same number, open as long as this process lives, says that the port is drawn. False where one is there. */
function reserve(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const mark = createSocket('udp4').unref()
    mark.once('error', () => resolve(false))
    mark.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
}
