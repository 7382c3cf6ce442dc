/** Webhooks: the list, a new one, and each endpoint with its attempts, deliveries, replays and settings. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { useChanges } from '../../parts/forms/changes.ts'
import type { EndpointWithSecret } from '../../parts/managing-answers.ts'
import type { ScreenProps } from '../../shell/navigation.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole } from '../../shell/services.ts'
import { EndpointList } from './endpoint-list.ts'
import { EndpointPage } from './endpoint-page.ts'
import { NewEndpoint } from './new-endpoint.ts'

/** The screen. */
export function WebhooksScreen({ route, session }: ScreenProps): ComponentChildren {
  const { router } = useConsole()
  const changes = useChanges('webhooks:write')
  // A secret is shown until the reader has stored it, whatever part of the screen is looked at meanwhile.
  const [made, setMade] = useState<EndpointWithSecret | null>(null)
  if (!session.mayRead('webhooks:read')) {
    return [
      h('h1', null, 'Webhooks'),
      h('p', { class: 'note' }, 'Webhooks are shown to sessions whose token has the scope webhooks:read.'),
    ]
  }
  const onMade = (endpoint: EndpointWithSecret): void => {
    setMade(endpoint)
    router.go(hrefOf('webhooks', endpoint.id))
  }
  const shown =
    route.id !== null
      ? h(EndpointPage, {
          key: route.id,
          id: route.id,
          query: route.query,
          changes,
          secret: made?.id === route.id ? made.secret : null,
          onSecret: setMade,
        })
      : route.query.has('new')
        ? h(NewEndpoint, { query: route.query, changes, onMade })
        : h(EndpointList, { changes })
  return [shown, h('div', { key: 'unlock' }, changes.dialog)]
}
