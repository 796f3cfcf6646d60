import { resolve } from "node:path";
import type { Texts } from "../../src/text/texts.ts";
import { createTexts } from "../../src/text/texts.ts";

/** With the worker that the build made. */
export function createTestTexts(): Texts {
  return createTexts(resolve(import.meta.dirname, "../../dist/workers/text-worker.js"));
}
