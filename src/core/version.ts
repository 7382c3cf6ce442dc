/** The product's version: one line, held equal to `package.json` by a test. */
export const VERSION = '0.1.0'
