/** States the version of the product; a test compares it with `package.json`. */
export const VERSION = '0.1.0'
