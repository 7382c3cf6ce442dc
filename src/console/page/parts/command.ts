/** How the command line is called on the machine of the bridge, as the page's shell says. */
export function bridgeCommand(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="command"]')?.content ?? 'bridge'
}
