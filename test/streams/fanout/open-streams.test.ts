import { expect, test } from 'vitest'
import { type OpenStream, OpenStreams } from '../../../src/streams/fanout/open-streams.ts'

const newStream = (): OpenStream => ({ number: 0 }) as OpenStream

test('ids find their stream, and do not say how many others were opened', () => {
  const open = new OpenStreams()
  const streams = Array.from({ length: 50 }, newStream)
  for (const stream of streams) open.add(stream)
  const ids = streams.map((stream) => open.idOf(stream))
  expect(ids.map((id) => open.find(id))).toEqual(streams)
  expect(ids.map((id) => open.numberIn(id))).toEqual(streams.map((_, at) => at + 1))
  // In clear, the ids of streams that follow each other would begin alike.
  expect(new Set(ids.map((id) => id.slice(0, 16))).size).toBe(50)
  const restarted = new OpenStreams()
  restarted.add(newStream())
  expect(restarted.idOf(newStream())).not.toBe(open.idOf(newStream()))
  expect([restarted.numberIn(ids[0] ?? ''), restarted.find(ids[0] ?? '')]).toEqual([0, null])
  expect(restarted.numberIn('str_1')).toBeNull()
})
