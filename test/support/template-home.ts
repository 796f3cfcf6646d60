import { Runtimes } from "../../src/sandbox/runtimes.ts";
import { MadeTemplates, type MadeTemplatesOptions } from "../../src/template/made-templates.ts";
import { StoredTemplates } from "../../src/template/stored-templates.ts";
import { createEgress } from "../../src/network/egress/create-egress.ts";
import { byName } from "./by-name.ts";
import type { WorkerHome } from "./home-worker.ts";
import { NO_LISTENERS } from "./no-listeners.ts";
import { openStateHome, type StateHome } from "./state-home.ts";

export interface TemplateHome extends StateHome {
  readonly templates: MadeTemplates;
  /** As another process has them. */
  openTemplates(): Promise<MadeTemplates>;
}

type TemplateOptions = Partial<Pick<MadeTemplatesOptions, "maxBytes" | "quotas" | "registry" | "root">> & {
  readonly storage?: WorkerHome["storage"];
};

/** A home with real sandboxes and templates. Disposing it kills what lives. */
export async function openTemplateHome({ storage, ...options }: TemplateOptions = {}): Promise<TemplateHome> {
  let stored: StoredTemplates | undefined;
  const egress = createEgress({ listeners: NO_LISTENERS, record: () => undefined });
  const home = await openStateHome(storage, (path) => ({
    templates: (stored = new StoredTemplates(path, () => undefined)),
    egress,
  }));
  const parts = { home: home.crash.home, stored: stored!, sandboxes: home.sandboxes, runtimes: new Runtimes(byName(home.runtime), {}) };
  const templates = new MadeTemplates({ maxBytes: 2 ** 30, report: () => undefined, ...options, ...parts });
  return {
    ...home,
    templates,
    async openTemplates() {
      const runtimes = byName(await home.crash.openRuntime());
      const stored = new StoredTemplates(home.crash.home, () => undefined);
      const sandboxes = await home.open({ templates: stored, runtimes });
      return new MadeTemplates({
        maxBytes: 2 ** 30,
        report: () => undefined,
        ...parts,
        stored,
        sandboxes,
        runtimes: new Runtimes(runtimes, {}),
      });
    },
    async [Symbol.asyncDispose]() {
      await templates[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
      await egress[Symbol.asyncDispose]();
    },
  };
}
