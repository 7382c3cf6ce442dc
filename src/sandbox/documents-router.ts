/**
 * Serves the documents that items link to as HTML, semantic HTML and PDF, rendered on each request. Routes need no key
 * and have no limits or faults, because the live service uses another host for documents. An item that is no longer
 * listed has no documents.
 */
import express, { type ErrorRequestHandler, type Response, type Router } from 'express'
import { type AnnouncementText, announcementText } from './documents/announcement.ts'
import { htmlPage, semanticHtml } from './documents/html.ts'
import { pdf } from './documents/pdf.ts'
import type { Market } from './market/market.ts'

/** What the documents depend on. */
export interface DocumentsOptions {
  market: Market
  /** Prefix of the document URLs in the items. */
  documentsUrl: string
  /** How long documents answer 404 after their item became visible, milliseconds of market time. */
  documentsAfterMs: number
}

const forms: readonly { ending: string; type: string; write: (text: AnnouncementText) => string | Buffer }[] =
  [
    { ending: '.semantic.html', type: 'text/html', write: semanticHtml },
    { ending: '.html', type: 'text/html', write: htmlPage },
    { ending: '.pdf', type: 'application/pdf', write: pdf },
  ]

/** Creates the router; paths are relative to its mount point. */
export function documentsRouter({ market, documentsUrl, documentsAfterMs }: DocumentsOptions): Router {
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
      const item = market.items.findByDateId(`${date}.${rnsId}`)
      const form = forms.find(({ ending }) => request.path.endsWith(ending))
      const named = item?.raw.includes(JSON.stringify(`${documentsUrl}${request.path}`))
      if (item === undefined || form === undefined || named !== true)
        return notFound(response, 'no such document')
      if (market.nowMs() < item.visibleMs + documentsAfterMs) return notFound(response, 'not there yet')
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

/** Answers 404 for a path that cannot be decoded. */
const answerUndecodable: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (error instanceof URIError) notFound(response, 'no such document')
  else next(error)
}

function notFound(response: Response, reason: string): void {
  response.status(404).type('text/plain').end(`${reason}\n`)
}
