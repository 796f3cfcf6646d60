import type { Config } from "../../config/config.ts";
import type { ClientRecord } from "../../network/egress/client-gate.ts";
import type { Runtime } from "../../runtime/contract/runtime.ts";
import type { LocalSandboxes } from "../../sandbox/local-sandboxes-options.ts";
import type { SecretStore } from "../../secrets/secret-store.ts";
import { createTemplates } from "../../template/create-templates.ts";
import type { StoredTemplates } from "../../template/stored-templates.ts";
import type { TemplatesInSteps } from "../../template/templates-in-steps.ts";
import { upstreamOptions } from "./open-egress.ts";

interface TemplateParts {
  readonly runtimes: ReadonlyMap<string, Runtime>;
  readonly sandboxes: LocalSandboxes;
  readonly stored: StoredTemplates;
  readonly secrets: Pick<SecretStore, "reveal">;
  readonly record: (record: ClientRecord) => void;
  readonly report: (problem: string) => void;
}

/** The templates of a home. Registries are asked through the same gate as sandboxes are let out. */
export async function openTemplates(
  config: Config,
  { runtimes, sandboxes, stored, secrets, record, report }: TemplateParts,
): Promise<TemplatesInSteps & AsyncDisposable> {
  const { home, quotas, template } = config;
  const { maxBytes, registries } = template;
  const reveal = (owner: string, name: string): Promise<string | undefined> => secrets.reveal(owner, name);
  const registry = { ...(await upstreamOptions(config)), registries, reveal, record };
  return createTemplates({ home, stored, sandboxes, registry, runtimes, config, maxBytes, quotas, report });
}
