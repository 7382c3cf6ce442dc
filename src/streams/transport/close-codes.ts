/** Lists the WebSocket close codes with their meaning and whether a client should reconnect (contract §8). */
import type { CloseCode, ProtocolCode } from './refusal.ts'

/** What a client does after that code; `corrected`: not before it is changed. */
export type ComeBack = 'never' | 'later' | 'at_once' | 'corrected'

/** A close code. */
export interface CloseMeaning {
  meaning: string
  comeBack: ComeBack
}

/** By code. */
export const closeMeanings: Readonly<Record<`${CloseCode}` | ProtocolCode, CloseMeaning>> = {
  1002: { meaning: 'Broken frames.', comeBack: 'corrected' },
  1003: { meaning: 'A binary message.', comeBack: 'corrected' },
  1007: { meaning: 'Broken UTF-8.', comeBack: 'corrected' },
  1008: { meaning: 'A message in too many pieces.', comeBack: 'corrected' },
  1009: { meaning: 'A message that is too large.', comeBack: 'corrected' },
  1011: { meaning: 'A fault of the bridge.', comeBack: 'later' },
  4001: {
    meaning: 'Authentication failed or came too late, a ticket opens nothing, or the token has ended.',
    comeBack: 'never',
  },
  4003: { meaning: 'The token lacks the scope `events:read`.', comeBack: 'never' },
  4006: { meaning: 'Too many streams of this token.', comeBack: 'never' },
  4010: { meaning: 'The cursor is none of this bridge, or older than what is kept.', comeBack: 'never' },
  4100: {
    meaning: 'No place for you on this node, or it cannot judge tokens and tickets yet.',
    comeBack: 'later',
  },
  4108: { meaning: 'Too slow, or what comes next is no longer kept.', comeBack: 'later' },
  4129: { meaning: 'Too many commands.', comeBack: 'later' },
  4200: { meaning: 'The node stops, or the connection is as old as one may be.', comeBack: 'at_once' },
  4201: { meaning: 'No pong came.', comeBack: 'at_once' },
}
