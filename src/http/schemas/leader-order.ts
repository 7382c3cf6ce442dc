/** Defines the orders of an operator that any node passes to the leader. */

/** The text of the request for a poll at once. */
export const POLL_NOW_REQUEST = 'order poll_now'
