/**
 * Lists the sentences and headings of made-up announcement documents.
 */

/** Sentences of documents; placeholders are {name}, {place}, {month}, {year} and {n}. */
export const sentences: readonly string[] = [
  'The board of {name} met on floor {n} of its office in {place} and has nothing further to add at this time.',
  '{name} confirms that the figures in this announcement were prepared for the sandbox and describe no real business.',
  'Revenue in the period grew by {n} thousand pounds, helped by better weather in {place} than in the year before.',
  'Shareholders who hold their shares through a nominee should ask the nominee what this announcement means for them.',
  'The company will publish a further statement in {month} {year}, or earlier where the rules ask for one.',
  'As announced before, the programme runs until {month} {year} and may be ended by either side at any time.',
  'The number of shares in issue does not include {n} thousand shares that are held in treasury.',
  'Discussions with {place} council about the new site have gone well and are expected to end in {month}.',
  'No director has dealt in the shares of {name} since the last announcement of that kind.',
  'The outlook for the rest of {year} is in line with what the board expected in {month}.',
  'Costs were {n} thousand pounds lower than planned, chiefly because the move to {place} took longer than planned.',
  'A copy of this announcement can be seen at the registered office in {place} during business hours.',
]

/** Headings of a document's sections. */
export const headings: readonly string[] = ['Summary', 'Details', 'Further information']
