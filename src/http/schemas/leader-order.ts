/** Defines the orders of an operator that any node passes to the leader, and their texts. */

/** An order: to poll, to retry an open gap, to read a day again (London's date, `YYYY-MM-DD`), or to give up the lead. */
export type LeaderOrder =
  | { what: 'poll' }
  | { what: 'gap'; id: string }
  | { what: 'day'; date: string }
  /** `leader`: the node that is to step down. A leader of another name does not. */
  | { what: 'step_down'; leader: string }

const BEGIN = 'order '

/** The text of a request for that order. */
export function orderText(order: LeaderOrder): string {
  switch (order.what) {
    case 'poll':
      return `${BEGIN}poll_now`
    case 'gap':
      return `${BEGIN}retry_gap ${order.id}`
    case 'day':
      return `${BEGIN}reconcile_day ${order.date}`
    case 'step_down':
      return `${BEGIN}step_down ${order.leader}`
  }
}

/** Whether the text is an order, also one of a later version. */
export function isOrder(text: string): boolean {
  return text.startsWith(BEGIN)
}

/** The order of a text; null where this version does not know it. */
export function readOrder(text: string): LeaderOrder | null {
  if (!isOrder(text)) return null
  const [verb = '', ...rest] = text.slice(BEGIN.length).split(' ')
  const argument = rest.join(' ')
  if (verb === 'poll_now') return { what: 'poll' }
  if (argument === '') return null
  if (verb === 'retry_gap') return { what: 'gap', id: argument }
  if (verb === 'reconcile_day') return { what: 'day', date: argument }
  if (verb === 'step_down') return { what: 'step_down', leader: argument }
  return null
}
