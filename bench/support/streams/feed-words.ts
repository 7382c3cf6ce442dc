/** Defines the messages between the processes of `npm run bench -- feed`, and the token of its server. */

export const TOKEN = 'the token of this bench, long enough'

/** To the server: `commit` so many events of about that size; `settle` until readers see them; `collect` garbage. */
export type ServerWord = { do: 'commit'; count: number; bytes: number } | { do: 'settle' } | { do: 'collect' }

/** From the server: where it listens, and when the events were committed, ms since 1970. */
export interface ServerAnswer {
  port: number
  atMs: number
}

/** Clients to be opened, all alike. */
export interface ClientsWanted {
  do: 'open'
  protocol: 'ws' | 'sse' | 'plain' | 'socketio'
  port: number
  count: number
  /** `trickle`: a kilobyte a second; `nothing`: not a byte once the stream has begun. */
  reading: 'all' | 'nothing' | 'trickle'
  /** Identifiers in the filter of each, drawn at random; 0 = everything. */
  identifiers: number
  /** Where a stream of the bridge begins. */
  from: 'live' | 'earliest' | { since: string }
}

/** Events that were committed at one time: the first as its sequence, or its place since the last reset. */
export interface CommitTime {
  first: number
  count: number
  atMs: number
}

/** Commands to the clients. `report` returns the delay of events after their commits; `reset` clears the counts. */
export type ClientsWord =
  | ClientsWanted
  | { do: 'reset' }
  | { do: 'count' }
  | { do: 'report'; commits: CommitTime[] }
  | { do: 'close' }

/** From the clients, of what came since the last reset. */
export interface ClientsAnswer {
  events: number
  /** Connections that are open and have received `live`. */
  live: number
  /** When the last event was complete, ms since 1970. */
  lastMs: number
  /** ms after the commit: median, 99th percentile, maximum; NaN if no times were requested. */
  p50: number
  p99: number
  worst: number
}
