import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import type { CatalogLog } from "../../catalog/catalog.ts";
import type { Config } from "../../config/config.ts";
import { errnoOf } from "../../files/file-error.ts";

/** In the folder where a person's own process starts. */
const USUAL_FOLDER = "prompts";

export interface SnippetsOptions {
  /** Also look for the usual folder. A server has no folder of its user's. */
  readonly usual: boolean;
  readonly log: CatalogLog;
}

/** Returns the absolute folder of the snippets. Logs a configured folder that cannot be read, which is found out at the start and not by a model. */
export function findSnippets(
  { snippetsDirectory }: Pick<Config, "snippetsDirectory">,
  { usual, log }: SnippetsOptions,
): string | undefined {
  const folder = resolve(snippetsDirectory ?? USUAL_FOLDER);
  if (snippetsDirectory === undefined && !usual) return undefined;
  const problem = problemOf(folder);
  if (problem === undefined) return folder;
  if (snippetsDirectory === undefined) return undefined;
  log.error(
    { err: problem },
    `The snippets' folder ${folder} cannot be read (${errnoOf(problem) ?? "unknown error"}): make it, or change --snippets`,
  );
  return folder;
}

function problemOf(folder: string): unknown {
  try {
    readdirSync(folder);
    return undefined;
  } catch (cause) {
    return cause;
  }
}
