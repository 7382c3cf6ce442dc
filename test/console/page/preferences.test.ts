/** What the reader chose is kept in the browser, for each of its tabs. */
import { expect, test } from 'vitest'
import { openPreferences } from '../../../src/console/page/shell/preferences.ts'

const KEY = 'disclosure-bridge.filters'

/** A window over this storage, whose storage events the test sends. */
function tab(stored: Map<string, string>) {
  const writes: string[] = []
  const heard: ((event: { key: string | null; newValue: string | null }) => void)[] = []
  const page = {
    localStorage: {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => {
        writes.push(value)
        stored.set(key, value)
      },
    },
    addEventListener: (_: string, listener: (typeof heard)[number]) => heard.push(listener),
  }
  const { filters } = openPreferences(page as unknown as Window)
  const hear = (key: string | null, newValue: string | null): void => {
    for (const listener of heard) listener({ key, newValue })
  }
  return { filters, writes, hear }
}

test('a late word of another tab takes back nothing that was kept since', () => {
  const stored = new Map<string, string>()
  const { filters, writes, hear } = tab(stored)
  filters.set('one')
  expect([stored.get(KEY), writes]).toEqual(['one', ['one']])
  stored.set(KEY, 'three')
  hear(KEY, 'two')
  expect([filters.get(), stored.get(KEY), writes]).toEqual(['three', 'three', ['one']])
})

test('another tab that forgets everything is followed', () => {
  const stored = new Map([[KEY, 'one']])
  const { filters, writes, hear } = tab(stored)
  stored.clear()
  hear(null, null)
  expect([filters.get(), writes, stored.size]).toEqual(['', [], 0])
})
