import type { Config } from "../../config/config.ts";
import type { Runtime } from "../../runtime/contract/runtime.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { StoredTemplates } from "../../template/stored-templates.ts";
import type { KnownTemplate } from "./languages-check.ts";

/** What languages may run in, of a home that need not be open: the runtimes' templates and the local user's own. */
export async function findTemplates(
  runtimes: ReadonlyMap<string, Runtime>,
  { home, runtime }: Pick<Config, "home" | "runtime">,
): Promise<readonly KnownTemplate[]> {
  const stored = new StoredTemplates(home, () => undefined);
  const own = (await runtimes.get(runtime)?.layers.templates()) ?? [];
  const made = (await stored.records(LOCAL)).filter(({ owner }) => owner === LOCAL.id);
  return [
    ...own.map(({ name }) => ({ name, isShared: true })),
    ...made.map(({ name, id }) => ({ name, isShared: stored.files.isShared(id) })),
  ];
}
