/** Shows the way of an event: its stations from the upstream to the topics, then each webhook of the tenant. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { CopyButton } from '../../parts/copy.ts'
import type { EventAnswer } from '../../parts/reading-answers.ts'
import { exactMoment, londonTime } from '../../parts/times.ts'
import { useAnswer } from '../../shell/polling.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole } from '../../shell/services.ts'
import { useStore } from '../../shell/store.ts'
import { Deliveries } from './deliveries.ts'
import { foundRequest, journeyOf, type Station } from './item-journey.ts'
import { OpenStreams } from './open-streams.ts'

/** A request is kept some seconds after the items that it brought. */
const EVERY_MS = 10_000
/** A request that is not among them by then is not kept. */
const YOUNG_MS = 120_000

/** The journey. */
export function Journey({ event }: { event: EventAnswer }): ComponentChildren {
  const { status, session, api, clock } = useConsole()
  const [isFound, setFound] = useState(false)
  const date = londonTime(Date.parse(event.time)).date
  const maySeePolls = session.mayRead('admin') && event.foundBy !== null
  const isYoung = clock.now() + api.aheadMs() - Date.parse(event.recordedtime) < YOUNG_MS
  const every = isYoung && !isFound ? EVERY_MS : null
  const polls = useAnswer(maySeePolls ? 'GET /v1/polls' : null, { with: { date } }, every)
  const { value: why } = useAnswer(
    'GET /v1/disclosures/{id}/journey',
    { with: { id: event.id } },
    isYoung ? EVERY_MS : null,
  )
  const request = useMemo(() => foundRequest(event, polls.value?.data ?? []), [event, polls.value])
  useEffect(() => setFound(request !== null), [request])
  const reported = useStore(status.reported).status
  const stations = journeyOf(event, {
    logKind: reported?.log.kind ?? null,
    aheadMs: reported?.upstream.aheadMs ?? null,
    request,
    momentOf: (iso) => exactMoment(Date.parse(iso)),
  })
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'journey' },
    h('h2', { id: 'journey' }, 'Journey'),
    why !== null && h('p', { class: why.verdict.late ? 'note' : 'hint' }, why.verdict.text),
    h('ol', { class: 'journey' }, stations.map(station), h(Deliveries, { event }), h(OpenStreams, { event })),
    polls.problem !== null &&
      h('p', { class: 'hint' }, `The request that brought it is not known: ${polls.problem.detail}`),
    h(
      'p',
      { class: 'item-actions' },
      h('a', { href: hrefOf('day', date) }, 'The day around it'),
      ' ',
      h('span', null, 'Cursor ', h(CopyButton, { text: event.cursor, what: 'its cursor' })),
    ),
  )
}

function station({ title, at, after, lines }: Station): ComponentChildren {
  return h(
    'li',
    { key: title, class: 'station' },
    h('h3', null, title, after !== null && [' ', h('span', { class: 'station-after' }, after)]),
    at !== null && h('time', { class: 'station-time', dateTime: at }, exactMoment(Date.parse(at))),
    lines.map((line) => h('p', { key: line }, line)),
  )
}
