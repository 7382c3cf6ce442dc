/** Names the API path of webhook endpoints, and lists the states of an endpoint: active, paused, disabled. */

/** Path under which endpoints are created and listed. */
export const ENDPOINTS_PATH = '/v1/webhooks'

/** `paused` by its owner; `disabled` by its owner or by the bridge. Only `active` endpoints receive deliveries. */
export const endpointStatuses = ['active', 'paused', 'disabled'] as const
/** One of them. */
export type EndpointStatus = (typeof endpointStatuses)[number]
