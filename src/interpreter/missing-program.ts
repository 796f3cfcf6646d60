import { BelljarError } from "../errors.ts";
import { DEFAULT_BASE, type Sandbox } from "../sandbox/sandbox.ts";
import { type Language, LANGUAGES } from "./language.ts";

/** A program that a template must have, as a person calls it, such as `bash`. */
export interface NeededProgram {
  readonly program: string;
  /** The package of Debian and Ubuntu that brings it. Default: no package is named. */
  readonly debianPackage?: string | undefined;
  /** The template in which it runs where no sandbox is named. Default: as every sandbox. */
  readonly template?: string | undefined;
}

/** Does what needs a program of the sandbox's template. If that has none, the rejection (`COMMAND_NOT_FOUND`) names both, and a remedy. */
export async function withProgram<T>(sandbox: Pick<Sandbox, "info">, needed: NeededProgram, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new BelljarError("COMMAND_NOT_FOUND", await tellMissing(sandbox, needed), { cause });
  }
}

/** As `withProgram` for the command of a language. The rejection (`LANGUAGE_UNAVAILABLE`) says which languages are there. */
export async function withLanguage<T>(sandbox: Sandbox, language: Language, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    const program = `${language.title} ("${language.command}"); ${await tellLanguages(sandbox, signal)}`;
    throw new BelljarError("LANGUAGE_UNAVAILABLE", await tellMissing(sandbox, { ...language, program }), { cause });
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof BelljarError && cause.code === "COMMAND_NOT_FOUND";
}

async function tellMissing(sandbox: Pick<Sandbox, "info">, { program, debianPackage, template: own }: NeededProgram): Promise<string> {
  const { template } = await sandbox.info();
  const missing = `The template "${template}" has no ${program}. To have it,`;
  if (own !== undefined && own !== template) return `${missing} name no sandbox: then it runs in the template "${own}"`;
  const named = debianPackage === undefined ? "" : ` (Debian, Ubuntu: the package ${debianPackage})`;
  // The one template that shows the machine's own programs.
  if (template === DEFAULT_BASE.template) return `${missing} install it on the machine that makes the template${named}`;
  return `${missing} use a template of an image that has it, or of a snapshot of a sandbox in which it is installed`;
}

const PROBE = 'for name do command -v "$name" >/dev/null 2>&1 && printf "%s\\n" "$name"; done; exit 0';
const PROBE_MS = 5_000;

async function tellLanguages({ guest }: Sandbox, signal: AbortSignal): Promise<string> {
  const commands = [...new Set(LANGUAGES.map(({ command }) => command))];
  try {
    const { stdout } = await guest.run({ argv: ["sh", "-c", PROBE, "sh", ...commands], signal, timeoutMs: PROBE_MS });
    const found = new Set(stdout.toString("utf8").split("\n"));
    const names = LANGUAGES.filter(({ command }) => found.has(command)).map(({ name }) => name);
    return names.length > 0 ? `it has ${names.join(", ")}` : "it has no language that Belljar knows";
  } catch (cause) {
    if (isMissing(cause)) return "it has no shell either, which could tell what else it has";
    throw cause;
  }
}
