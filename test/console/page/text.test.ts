/** Strangers' text is shown so that nothing in it is invisible or moves what stands beside it. */
import { expect, test } from 'vitest'
import { safeHref } from '../../../src/console/page/parts/safe-href.ts'
import { textOfUnknown, visibleLines, visibleText } from '../../../src/console/page/parts/text.ts'

test('controls, marks of direction, characters without width and halves of characters become visible', () => {
  expect(visibleText('a\u0000b\u001bc\u007f')).toBe('a\u2400b\u241bc\u2421')
  expect(visibleText('pay \u202Eevil\u202C')).toBe('pay ⟨U+202E⟩evil⟨U+202C⟩')
  expect(visibleText('a\u200bb\u2066c\u2028d\u0085')).toBe('a⟨U+200B⟩b⟨U+2066⟩c⟨U+2028⟩d⟨U+0085⟩')
  expect(visibleText('x\ud800y\u{e0041}')).toBe('x⟨U+D800⟩y⟨U+E0041⟩')
  expect(visibleText('\u3164\u115f\ufeff\u00ad')).toBe('⟨U+3164⟩⟨U+115F⟩⟨U+FEFF⟩⟨U+00AD⟩')
})

test('usual text, accents, other scripts and emoji stay as they are', () => {
  for (const text of [
    'Results & Outlook <1%>',
    'Crédit Ågricole',
    '日本株式',
    'דו״ח',
    'profit 📈',
    'e\u0301',
  ])
    expect(visibleText(text)).toBe(text)
})

test('marks that are piled on one letter are cut', () => {
  expect(visibleText(`a${'\u0301'.repeat(40)}b`)).toBe('a\u0301\u0301\u0301…b')
})

test('the body of an answer keeps its lines', () => {
  expect(visibleLines('one\r\n\ttwo\n\u202Ethree')).toBe('one\r\n\ttwo\n⟨U+202E⟩three')
})

test('a value that is no text is written as JSON, and nothing as nothing', () => {
  expect([undefined, null, 'x', 5, true, { toString: 1 }, [['a']]].map(textOfUnknown)).toEqual([
    '',
    '',
    'x',
    '5',
    'true',
    '{"toString":1}',
    '[["a"]]',
  ])
})

test('a link goes to http and https only, and never with a password', () => {
  expect(safeHref('https://docs.example/a b')).toBe('https://docs.example/a%20b')
  expect(safeHref('http://docs.example')).toBe('http://docs.example/')
  for (const text of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'blob:https://docs.example/1',
    'file:///etc/passwd',
    'https://user:secret@docs.example/',
    '//docs.example/x',
    '/relative',
    '',
    `https://docs.example/${'x'.repeat(3000)}`,
    null,
    5,
    { toString: 1 },
  ])
    expect(safeHref(text)).toBeNull()
})
