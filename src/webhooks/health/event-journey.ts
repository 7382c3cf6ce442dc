/** Finds what became of one event at each endpoint of a caller that wants it, with its attempts, for the event's journey. */
import { noEvent } from '../../archive/named-event.ts'
import { attemptOutcomes } from '../../core/attempt-end.ts'
import type { Caller } from '../../http/auth.ts'
import type { AttemptHistory } from '../attempts/attempt-history.ts'
import type { KeptAttempt } from '../attempts/attempt-list.ts'
import type { DeliveryState } from '../attempts/attempt-store.ts'
import { checkLoaded } from '../endpoints/endpoint-of.ts'
import { explainDelivery } from './delivery-reason.ts'
import type { EventDeliveriesOptions } from './event-deliveries-route.ts'

/** What it works with. */
export interface EventJourneyOptions extends Omit<EventDeliveriesOptions, 'history'> {
  history: Pick<AttemptHistory, 'deliveriesOf' | 'attemptsOfEvent'>
}

/** An endpoint that wants the event. */
export interface EndpointJourney {
  endpointId: string
  url: string
  state: DeliveryState | null
  /** Why it has not got it, as a clause; null where the attempts tell. */
  why: string | null
  /** It is paused or disabled, and the event waits for that. */
  isHeld: boolean
  /** The earliest first, of the newest ones. */
  attempts: readonly KeptAttempt[]
}

/** Endpoints that are looked at, and that are shown. */
const MOST_LOOKED_AT = 200
const MOST_SHOWN = 20
const MOST_ATTEMPTS = 20

/** Looks for the event of that sequence at the endpoints of a caller. */
export function createEventJourney({
  endpoints,
  history,
  placeOf,
  reader,
  clock,
}: Omit<EventJourneyOptions, 'sequenceOf'>) {
  return async (
    caller: Caller,
    sequence: number,
    gone: AbortSignal,
  ): Promise<{ endpoints: EndpointJourney[]; hasMore: boolean }> => {
    checkLoaded(endpoints)
    const read = await reader.read({ after: sequence - 1, filter: null, limit: 1, signal: gone })
    const event = read.events[0]
    if (gone.aborted) return { endpoints: [], hasMore: false }
    if (event?.sequence !== sequence) throw noEvent()
    const { id: eventId } = JSON.parse(event.json.toString()) as { id: string }
    const tenant = caller.seesAllTenants ? null : caller.tenant
    const found = endpoints.list({ tenant, after: '', limit: MOST_LOOKED_AT + 1 })
    const looked = found.slice(0, MOST_LOOKED_AT)
    const kept = history.deliveriesOf(
      looked.map(({ id }) => id),
      { epoch: reader.epoch ?? '', sequence },
    )
    const wanted = looked.flatMap((endpoint) => {
      const delivery = kept.get(endpoint.id)
      // In a log that a backup has replaced, the sequence was another event's.
      const own = delivery?.eventId === eventId ? delivery : undefined
      const parts = { endpoint, event, kept: own, place: placeOf(endpoint, event), reader }
      const explained = explainDelivery({ ...parts, nowMs: clock.now() })
      return explained.state === null && own === undefined ? [] : [{ endpoint, ...explained }]
    })
    const shown: EndpointJourney[] = []
    for (const { endpoint, state, why } of wanted.slice(0, MOST_SHOWN)) {
      const { id: endpointId, url } = endpoint
      const query = { eventId, outcomes: attemptOutcomes, before: null, limit: MOST_ATTEMPTS }
      const attempts = await history.attemptsOfEvent(endpointId, query, { gone, caller: caller.tokenId })
      const isHeld = why?.reason === 'paused' || why?.reason === 'disabled'
      shown.push({
        ...{ endpointId, url, state, why: why?.detail ?? null, isHeld },
        attempts: attempts.toReversed(),
      })
    }
    return { endpoints: shown, hasMore: wanted.length > MOST_SHOWN || found.length > MOST_LOOKED_AT }
  }
}
