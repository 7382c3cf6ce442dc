/** Lists JSON texts that break careless code. Some have no form as a JavaScript literal. */

/** By what they are. */
export const hostileValues: Readonly<Record<string, string>> = {
  null: 'null',
  boolean: 'true',
  negative: '-1',
  fraction: '0.1',
  'beyond every number': '1e999',
  'beyond every integer': '9223372036854775808',
  'empty text': '""',
  'long text': JSON.stringify('x'.repeat(1500)),
  'control characters': '"\\u0000\\u001b[2J\\u009b\\r\\n"',
  'turned text': '"\\u202e\\u2028\\ufeff"',
  'half a character': '"\\ud800"',
  'a name of every object': '"__proto__"',
  'empty list': '[]',
  'deep list': '['.repeat(20) + ']'.repeat(20),
  'object without primitive form': '{"toString":1,"valueOf":1}',
  'object with a prototype': '{"__proto__":{"toString":1},"constructor":{"prototype":1}}',
  'object that poses as a list': '{"length":1e9,"0":{"toJSON":1,"toString":null}}',
}
/** No member takes these. */
export const NEVER_LEGAL = Object.keys(hostileValues).filter((kind) => kind.startsWith('object '))
