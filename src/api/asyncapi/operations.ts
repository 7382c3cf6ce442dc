/** Builds the send and receive operations of a channel for the AsyncAPI document. */
import type { Channel, TakenMessage } from '../../http/channel.ts'

/** Operations by name. */
type Operations = Readonly<Record<string, object>>

/** The operations of a channel. */
export function operationsOf(channel: Channel): Operations {
  const { key, title, sends, takes = [] } = channel
  const own = { $ref: `#/channels/${key}` }
  const messages = (names: readonly string[]) =>
    names.map((name) => ({ $ref: `#/channels/${key}/messages/${name}` }))
  const taking = (message: TakenMessage): [string, object] => [
    `take.${key}.${message.name}`,
    {
      action: 'receive',
      channel: own,
      title: `${title}: ${message.name}`,
      summary: message.summary,
      messages: messages([message.name]),
      reply: { channel: own, messages: messages(message.answers) },
    },
  ]
  return {
    [`send.${key}`]: {
      action: 'send',
      channel: own,
      title,
      description: sends.description,
      ...(sends.bindings === undefined ? {} : { bindings: sends.bindings }),
      messages: messages(sends.messages.map(({ name }) => name)),
    },
    ...Object.fromEntries(takes.map(taking)),
  }
}
