const READY_MS = 30_000;

/** Resolves once it is so, for what happens in the background and tells nobody. Rejects when it never is. */
export async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + READY_MS; !isSo(); await new Promise(setImmediate))
    if (Date.now() > end) throw new Error(`It is never so that ${String(isSo)}`);
}
