/** Names what units of the upstream quota are spent for, as the console says it. */

const purposeWords: Readonly<Record<string, string>> = {
  poll: 'polls',
  fill: 'fills',
  sweep: 're-scans',
  backfill: 'the backfill',
  probe: 'trials of a new cursor',
  gateway: 'requests passed on for clients',
}

/** What units were spent for, as this console says it; an unknown purpose stays as it is. */
export function purposeWord(purpose: string): string {
  return purposeWords[purpose] ?? purpose
}
