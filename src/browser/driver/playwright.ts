import { createRequire } from "node:module";
import type { BrowserType } from "playwright-core";

/** The package's own files lie beside the driver (`scripts/build.mjs`). They are not bundled: they find one another by their places. */
export function loadChromium(): BrowserType {
  const load = createRequire(import.meta.url);
  return (load("./playwright-core/index.js") as { readonly chromium: BrowserType }).chromium;
}
