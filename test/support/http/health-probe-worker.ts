/** The thread of `health-probe.ts`. */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const PAUSE_MS = 20

function ask(url: string): Promise<number> {
  const begun = performance.now()
  return new Promise((resolve) => {
    const sent = request(url, { agent: false, timeout: 10_000 }, (response) => {
      response.resume()
      response.on('end', () => resolve(performance.now() - begun))
    })
    sent.on('timeout', () => sent.destroy())
    sent.on('error', () => resolve(10_000))
    sent.end()
  })
}

const times: number[] = []
let isOver = false
parentPort?.once('message', () => {
  isOver = true
})
while (!isOver) {
  times.push(await ask(workerData as string))
  await sleep(PAUSE_MS)
}
parentPort?.postMessage(times)
