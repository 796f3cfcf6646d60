import { BelljarError } from "../errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { LANGUAGES } from "./language.ts";

const PROBE = 'for name do command -v "$name" >/dev/null 2>&1 && printf "%s\\n" "$name"; done; exit 0';

/** The names of the languages whose command this sandbox has; none where it has no `sh` to ask. */
export async function findAvailableLanguages({ guest }: Sandbox, signal: AbortSignal): Promise<readonly string[]> {
  const commands = [...new Set(LANGUAGES.map((language) => language.command))];
  try {
    const { stdout } = await guest.run({ argv: ["sh", "-c", PROBE, "sh", ...commands], signal, timeoutMs: 5_000 });
    const found = new Set(stdout.toString("utf8").split("\n"));
    return LANGUAGES.filter((language) => found.has(language.command)).map((language) => language.name);
  } catch (error) {
    if (error instanceof BelljarError && error.code === "COMMAND_NOT_FOUND") return [];
    throw error;
  }
}
