/** Records what a page does over the network: requests, WebSockets and their frames, in the order of the browser's reports. */
import type { BrowserPage } from '../chromium.ts'

/** What a page has done since the recording began. */
export interface PageTraffic {
  /** One line each: `request GET /v1/status`, `socket /v1/stream`, `sent …`, `received …`, `closed`. */
  lines(): readonly string[]
  /** How many of the sockets that were opened since line number `from` are not closed. */
  openSockets(from: number): number
}

interface NetworkEvent {
  requestId?: string
  request?: { method: string; url: string }
  url?: string
  response?: { payloadData: string }
}

/** Records from now on. */
export async function recordTraffic(page: BrowserPage): Promise<PageTraffic> {
  const lines: string[] = []
  /** Each open socket, with the number of its line. */
  const sockets = new Map<string | undefined, number>()
  page.follow((method, params) => {
    const event = params as NetworkEvent
    // The sockets of the document before are gone with it; the browser may not report their end.
    if (method === 'Page.frameNavigated') sockets.clear()
    if (method === 'Network.webSocketCreated') sockets.set(event.requestId, lines.length)
    if (method === 'Network.webSocketClosed') sockets.delete(event.requestId)
    const line = lineOf(method, event)
    if (line !== null) lines.push(line)
  })
  await page.call('Network.enable')
  return {
    lines: () => lines,
    openSockets: (from) => [...sockets.values()].filter((at) => at >= from).length,
  }
}

function lineOf(method: string, { request, url = '', response }: NetworkEvent): string | null {
  switch (method) {
    case 'Network.requestWillBeSent':
      return `request ${request?.method} ${pathOf(request?.url ?? '')}`
    case 'Network.webSocketCreated':
      return `socket ${pathOf(url)}`
    case 'Network.webSocketFrameSent':
      return `sent ${response?.payloadData.slice(0, 200)}`
    case 'Network.webSocketFrameReceived':
      return `received ${response?.payloadData.slice(0, 200)}`
    case 'Network.webSocketClosed':
      return 'closed'
    default:
      return null
  }
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url
}
