import { readdirSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
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

/**
 * Returns the real path of the folder with the snippets. Logs a configured folder that cannot be read, which is found out at the start
 * and not by a model. The usual folder is taken if it is no link: a project that somebody else wrote could link to any folder.
 */
export function findSnippets(
  { snippetsDirectory }: Pick<Config, "snippetsDirectory">,
  { usual, log }: SnippetsOptions,
): string | undefined {
  if (snippetsDirectory === undefined) return usual ? findUsual() : undefined;
  const folder = resolve(snippetsDirectory);
  try {
    readdirSync(folder);
    return realpathSync(folder);
  } catch (cause) {
    const why = errnoOf(cause) ?? "unknown error";
    log.error({ err: cause }, `The snippets' folder ${folder} cannot be read (${why}): make it, or change --snippets`);
    return folder;
  }
}

function findUsual(): string | undefined {
  const folder = join(realpathSync("."), USUAL_FOLDER);
  try {
    return readdirSync(folder) && realpathSync(folder) === folder ? folder : undefined;
  } catch {
    return undefined;
  }
}
