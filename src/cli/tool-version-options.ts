import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { ToolLanguage, UnitSpec } from "../dynamic/unit.ts";
import { parseJson } from "../files/parse-json.ts";
import type { CommandCall } from "./command.ts";
import { textOption, textOptions } from "./command.ts";
import { networkOption } from "./compose/configured-policy.ts";
import { choiceOption, namedLimits, withoutUndefined } from "./limit-options.ts";
import { usage } from "./usage.ts";
import { parseDuration, parseSecretOptions } from "./values.ts";

const LANGUAGES: Readonly<Record<string, ToolLanguage>> = {
  ".py": "python",
  ".js": "javascript",
  ".mjs": "javascript",
  ".cjs": "javascript",
  ".ts": "typescript",
  ".mts": "typescript",
  ".sh": "shell",
};

/** The code of the file, in the language that its name says. Rejects with `USAGE`. */
export async function readCode(call: CommandCall, file: string): Promise<Pick<UnitSpec, "language" | "code">> {
  const language = LANGUAGES[extname(file).toLowerCase()];
  if (!language) throw usage(`"${file}" has none of the endings ${Object.keys(LANGUAGES).join(", ")}`, `belljar ${call.spec.name} --help`);
  return { language, code: await readText(file, call) };
}

/** What the command line says of a version beside its code. Rejects with `USAGE`. */
export async function readOptions(call: CommandCall): Promise<Omit<UnitSpec, "language" | "code">> {
  const limits = namedLimits(call);
  const secrets = textOptions(call, "secret");
  const calls = textOptions(call, "calls");
  const timeout = textOption(call, "timeout");
  const tests = textOption(call, "tests");
  return withoutUndefined({
    ...(await networkOption(call)),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(secrets.length > 0 && { secrets: parseSecretOptions(secrets) }),
    ...(timeout !== undefined && { timeoutMs: parseDuration("timeout", timeout) }),
    ...(calls.length > 0 && { calls }),
    reuse: choiceOption(call, "reuse", ["call", "session"]),
    ...(tests !== undefined && { tests: await readTests(tests, call) }),
  });
}

/** What is in the list is checked where it is kept. */
async function readTests(file: string, call: CommandCall): Promise<NonNullable<UnitSpec["tests"]>> {
  const tests = parseJson(await readText(file, call));
  if (Array.isArray(tests)) return tests as NonNullable<UnitSpec["tests"]>;
  throw usage(`--tests ${file} holds no JSON list of tests`, `belljar ${call.spec.name} --help`);
}

async function readText(file: string, { spec }: CommandCall): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw usage(`${file} cannot be read: ${(cause as Error).message}`, `belljar ${spec.name} --help`);
  }
}
