/** Asks a person for consent before a command changes something that cannot be taken back. */
import { createInterface } from 'node:readline/promises'
import { BridgeError } from '../../errors.ts'

/** Where a person reads and answers. */
export interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean }
  output: NodeJS.WritableStream & { isTTY?: boolean }
}

/**
 * Resolves when a person has typed `yes`.
 * @throws BridgeError `usage` without a terminal, where nobody is asked; `failed` for any other answer; the signal's reason
 */
export async function confirm(
  question: string,
  { input, output }: Terminal,
  signal: AbortSignal,
): Promise<void> {
  if (input.isTTY !== true || output.isTTY !== true) {
    throw new BridgeError('usage', 'there is no terminal to ask on, so nothing was changed', {
      hint: 'Pass --yes if you have read the lines above and agree.',
    })
  }
  const lines = createInterface({ input, output })
  try {
    const answer = await lines.question(`${question} Type yes to go on: `, { signal })
    if (answer.trim() === 'yes') return
  } finally {
    lines.close()
  }
  throw new BridgeError('failed', 'nothing was changed', { hint: 'Only the answer yes goes on.' })
}
