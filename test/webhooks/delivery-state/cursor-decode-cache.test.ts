import { expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { createCursorDecodeCache } from '../../../src/webhooks/delivery-state/cursor-decode-cache.ts'

test('a cursor says what it says, the first time, again, and after more of them than are remembered', () => {
  const readCursor = createCursorDecodeCache()
  for (let time = 1; time <= 2; time++) {
    for (let sequence = 1; sequence <= 1500; sequence++) {
      const cursor = { epoch: 'Epoch001', sequence, timeMs: sequence * 1000 }
      expect(readCursor(encodeCursor(cursor))).toEqual(cursor)
      if (sequence === 1) expect(readCursor(encodeCursor(cursor))).toBe(readCursor(encodeCursor(cursor)))
    }
  }
  expect(() => readCursor('none')).toThrow(expect.objectContaining({ code: 'cursor_invalid' }))
})
