/** Counts the frames of a page, and the rows it has in them. */
import type { BrowserPage } from '../chromium.ts'

/** What was counted. */
export interface FrameCount {
  /** Frames a second, over all of the time. */
  perSecond: number
  /** Longest time between two frames, ms. */
  longestMs: number
  seconds: number
  /** Most table rows that the page had at the end of a frame. */
  mostRows: number
}

const START = `(() => {
  const counted = { times: [], mostRows: 0, isOn: true }
  globalThis.countedFrames = counted
  const rows = document.getElementsByTagName('tr')
  const count = (atMs) => {
    if (!counted.isOn) return
    counted.times.push(atMs)
    counted.mostRows = Math.max(counted.mostRows, rows.length)
    requestAnimationFrame(count)
  }
  requestAnimationFrame(count)
})()`

const END = `(() => {
  const { times, mostRows } = countedFrames
  countedFrames.isOn = false
  const seconds = (times.at(-1) - times[0]) / 1000
  const longestMs = Math.max(...times.slice(1).map((atMs, index) => atMs - times[index]))
  return { perSecond: (times.length - 1) / seconds, longestMs, seconds, mostRows }
})()`

/** Counts from now until the returned function is called. */
export async function countFrames(page: BrowserPage): Promise<() => Promise<FrameCount>> {
  await page.evaluate(START)
  return () => page.evaluate<FrameCount>(END)
}
