import { failedLine } from "./dockerfile-error.ts";
import type { Dockerfile } from "./parse-dockerfile.ts";

/** Before anything runs. Throws `ARGUMENTS_INVALID`. */
export function assertSecrets({ stages }: Dockerfile, secrets: Readonly<Record<string, string>>): void {
  for (const step of stages.flatMap(({ steps }) => steps)) {
    const missing = step.kind === "run" ? step.mounts.find(({ id, isRequired }) => isRequired && !Object.hasOwn(secrets, id)) : undefined;
    if (missing) throw failedLine("ARGUMENTS_INVALID", step.line, `needs the secret ${missing.id}: give it by --secret id=${missing.id}`);
  }
}
