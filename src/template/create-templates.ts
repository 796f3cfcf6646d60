import type { Runtime } from "../runtime/contract/runtime.ts";
import { type RuntimeChoice, Runtimes } from "../sandbox/runtimes.ts";
import { MadeTemplates, type MadeTemplatesOptions } from "./made-templates.ts";
import { StoredTemplates } from "./stored-templates.ts";
import type { TemplatesInSteps } from "./templates-in-steps.ts";

const MAX_BYTES = 10 * 2 ** 30;

type Report = (problem: string) => void;

export interface TemplatesOptions extends Omit<MadeTemplatesOptions, "runtimes" | "root" | "maxBytes" | "report"> {
  /** Those of the sandboxes, as `stored` is. */
  readonly runtimes: ReadonlyMap<string, Runtime>;
  readonly config: RuntimeChoice & { readonly sandbox?: { readonly root?: boolean | undefined } };
  /** Of the files of one template. Default: 10 GiB. */
  readonly maxBytes?: number;
  /** Told, in one sentence, what a person should know though no call fails. Default: nobody is. */
  readonly report?: Report;
}

/** What sandboxes of a home may begin with, for `createLocalSandboxes`. Templates are made with it by `createTemplates`. */
export function createStoredTemplates(home: string, report: Report = () => undefined): StoredTemplates {
  return new StoredTemplates(home, report);
}

/** The templates of a home on this host. Disposing it stops the builds that nobody waits for. */
export function createTemplates({ runtimes, config, ...options }: TemplatesOptions): TemplatesInSteps & AsyncDisposable {
  const { root } = config.sandbox ?? {};
  return new MadeTemplates({ maxBytes: MAX_BYTES, report: () => undefined, ...options, root, runtimes: new Runtimes(runtimes, config) });
}
