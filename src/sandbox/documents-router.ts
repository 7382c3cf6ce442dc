/**
 * The documents behind the addresses in the items: HTML, semantic HTML and PDF, written when they are asked for and kept
 * nowhere. Open to everybody, outside `/v2`, without limits or faults: on the live service they lie on another host. An
 * item that has left the listings has no documents any more.
 */
import express, { type ErrorRequestHandler, type Response, type Router } from 'express'
import { type AnnouncementText, announcementText } from './documents/announcement.ts'
import { htmlPage, semanticHtml } from './documents/html.ts'
import { pdf } from './documents/pdf.ts'
import type { Market } from './market/market.ts'

export interface DocumentsOptions {
  market: Pick<Market, 'advance' | 'listed' | 'nowMs'>
  /** What the addresses in the items begin with. */
  documentsUrl: string
  /** How long after its item became visible a document is not there yet, milliseconds of market time. */
  readyAfterMs: number
}

const forms: readonly { ending: string; type: string; write: (text: AnnouncementText) => string | Buffer }[] =
  [
    { ending: '.semantic.html', type: 'text/html', write: semanticHtml },
    { ending: '.html', type: 'text/html', write: htmlPage },
    { ending: '.pdf', type: 'application/pdf', write: pdf },
  ]

/** Serves the documents below the mount point. */
export function documentsRouter({ market, documentsUrl, readyAfterMs }: DocumentsOptions): Router {
  const router = express.Router({ caseSensitive: true })
  router.use((_request, response, next) => {
    market.advance()
    response.set('date', new Date(market.nowMs()).toUTCString())
    next()
  })
  router
    .route('/rns/:date/:rnsId/:file')
    .get((request, response) => {
      const { date, rnsId } = request.params
      const item = market.listed(`${date}.${rnsId}`)
      const form = forms.find(({ ending }) => request.path.endsWith(ending))
      const named = item?.raw.includes(JSON.stringify(`${documentsUrl}${request.path}`)) === true
      if (item === null || form === undefined || !named) return notFound(response, 'no such document')
      if (market.nowMs() < item.visibleMs + readyAfterMs) return notFound(response, 'not there yet')
      const text = announcementText(item.raw)
      if (text === null) return notFound(response, 'no such document')
      response.type(form.type).end(form.write(text))
    })
    .all((_request, response) => {
      response.status(405).set('allow', 'GET, HEAD').type('text/plain').end('documents can only be read\n')
    })
  router.use((_request, response) => notFound(response, 'no such document'))
  router.use(answerUndecodable)
  return router
}

/** A path that cannot be decoded names no document. */
const answerUndecodable: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (error instanceof URIError) notFound(response, 'no such document')
  else next(error)
}

function notFound(response: Response, reason: string): void {
  response.status(404).type('text/plain').end(`${reason}\n`)
}
