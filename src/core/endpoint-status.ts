/** Lists the states of a webhook endpoint that its owner and the metrics see. */

/** `paused` by its owner; `disabled` by its owner or by the bridge. Only `active` endpoints receive deliveries. */
export const endpointStatuses = ['active', 'paused', 'disabled'] as const
/** One of them. */
export type EndpointStatus = (typeof endpointStatuses)[number]
