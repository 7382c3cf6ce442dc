import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import {
  LARGE_BATCH_BYTES,
  LARGE_BUDGET_BYTES,
  SendBuffers,
  SMALL_BATCH_BYTES,
} from '../../../src/http/bounds/send-buffers.ts'
import { StallWatch } from '../../../src/http/bounds/stall-watch.ts'
import { SocketWriter, type WriterOwner } from '../../../src/streams/fanout/socket-writer.ts'
import { TickBudget } from '../../../src/streams/limits/tick-budget.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

/** A writer over a real socket, and its client, which does not read yet. */
async function pair() {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const client = connect(address.port, '127.0.0.1')
  client.pause()
  const [[socket]] = (await Promise.all([once(server, 'connection'), once(client, 'connect')])) as [
    [Socket],
    [],
  ]
  open.push(() => {
    client.destroy()
    socket.destroy()
    server.close()
  })
  const sendBuffers = new SendBuffers()
  const said: string[] = []
  const owner: WriterOwner = {
    onFull: () => said.push('full'),
    onRoom: () => said.push('room'),
    onStalled: () => said.push('stalled'),
  }
  const sink = new SocketWriter(
    socket,
    'socket',
    { stallWatch: new StallWatch(createManualClock()), sendBuffers, tickBudget: new TickBudget() },
    owner,
  )
  return { client, sendBuffers, said, sink, socket }
}

/** Writes until the socket buffer is full. */
function fill(sink: SocketWriter): number {
  let written = 0
  for (const block = Buffer.alloc(SMALL_BATCH_BYTES); !sink.isFull; written += block.length) sink.write(block)
  return written
}

/** The size of the next batch. */
function nextSize(sendBuffers: SendBuffers): number {
  const { maxBytes, end } = sendBuffers.reserve()
  end()
  return maxBytes
}

describe('a socket writer', () => {
  test('is not full while the kernel accepts every byte, however many', async () => {
    const { said, sink, sendBuffers } = await pair()
    sink.write(Buffer.alloc(LARGE_BATCH_BYTES / 2))
    expect(sink.isFull).toBe(false)
    expect(said).toEqual([])
    expect(nextSize(sendBuffers)).toBe(LARGE_BATCH_BYTES)
  })

  test('is full at the first byte the kernel refuses, and has room once the last one is sent', async () => {
    const { client, sendBuffers, said, sink, socket } = await pair()
    let left = fill(sink)
    expect(socket.writableLength).toBeLessThanOrEqual(SMALL_BATCH_BYTES)
    sendBuffers.retain(Buffer.allocUnsafeSlow(LARGE_BUDGET_BYTES - LARGE_BATCH_BYTES))
    expect(said).toEqual(['full'])
    expect(nextSize(sendBuffers)).toBe(SMALL_BATCH_BYTES)
    client.resume()
    for await (const chunk of client) {
      left -= (chunk as Buffer).length
      if (left === 0) break
    }
    expect(said).toEqual(['full', 'room'])
    expect(sink.isFull).toBe(false)
    expect(nextSize(sendBuffers)).toBe(LARGE_BATCH_BYTES)
  })

  test('retains nothing once its socket is closed', async () => {
    const { sendBuffers, sink, socket } = await pair()
    fill(sink)
    sendBuffers.retain(Buffer.allocUnsafeSlow(LARGE_BUDGET_BYTES - LARGE_BATCH_BYTES))
    expect(nextSize(sendBuffers)).toBe(SMALL_BATCH_BYTES)
    socket.destroy()
    await once(socket, 'close')
    expect(nextSize(sendBuffers)).toBe(LARGE_BATCH_BYTES)
  })
})
