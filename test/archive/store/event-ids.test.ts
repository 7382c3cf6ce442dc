import { expect, test } from 'vitest'
import { openArchive } from '../../../src/archive/store/archive.ts'
import { AMENDED, type Committed } from '../../../src/core/event.ts'
import { eventAt } from '../../support/store.ts'

test('events are found by id, each revision by its own id, up to the position that readers see', () => {
  const archive = openArchive({ path: ':memory:', nativeKind: 'Native', durable: false })
  const { id } = eventAt(1)
  const amended: Committed = { ...eventAt(2), id: `${id}#2`, type: AMENDED, data: eventAt(1).data }
  const strange = { ...eventAt(3), id: 'urn:a#7', data: eventAt(3).data.replace(eventAt(3).id, 'urn:a#7') }
  archive.append([eventAt(1), amended, strange, eventAt(4)])
  const ids = [id, `${id}#2`, `${id}#3`, 'urn:a#7', eventAt(4).id, 'urn:none', '']
  expect(Object.fromEntries(archive.sequencesOf(ids, 3))).toEqual({ [id]: 1, [`${id}#2`]: 2, 'urn:a#7': 3 })
  archive.close()
})
