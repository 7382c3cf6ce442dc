import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { freePorts } from './ports.ts'

test('a drawn port stays reserved while this process lives, although nothing listens on it yet', async () => {
  const ports = [...(await freePorts(20)), ...(await freePorts(20))]
  expect(new Set(ports).size).toBe(40)
  for (const port of ports) {
    const other = createSocket('udp4')
    other.bind({ port, address: '127.0.0.1', exclusive: true })
    const [error] = (await once(other, 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('EADDRINUSE')
    other.close()
  }
})
