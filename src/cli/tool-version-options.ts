import { open } from "node:fs/promises";
import { constants } from "node:fs";
import { extname } from "node:path";
import { toEditProblem } from "../dynamic/edit-problem.ts";
import type { ToolLanguage, UnitSpec } from "../dynamic/unit.ts";
import { CODE_BYTES_MAX, testSchema } from "../dynamic/store/stored-unit.ts";
import { explainIssue } from "../catalog/explain-issue.ts";
import { BelljarError } from "../errors.ts";
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

/** Resolves as the work that reads the code of the file. What is wrong with the code is told as `FILE:LINE: ...`, where the line is known. */
export async function namingFile<T>(file: string | undefined, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (file === undefined || !(error instanceof BelljarError) || error.code !== "TOOL_INVALID") throw error;
    const problem = toEditProblem(file, error);
    const place = problem.line === undefined ? file : `${file}:${problem.line}`;
    throw new BelljarError(error.code, `${place}: ${problem.message}`, { cause: error });
  }
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
    ...(secrets.length > 0 && { secrets: parseSecretOptions(secrets, `belljar ${call.spec.name} --help`) }),
    ...(timeout !== undefined && { timeoutMs: parseDuration("timeout", timeout) }),
    ...(calls.length > 0 && { calls }),
    reuse: choiceOption(call, "reuse", ["call", "session"]),
    ...(tests !== undefined && { tests: await readTests(tests, call) }),
  });
}

async function readTests(file: string, call: CommandCall): Promise<NonNullable<UnitSpec["tests"]>> {
  const help = `belljar ${call.spec.name} --help`;
  const given = parseJson(await readText(file, call));
  if (!Array.isArray(given)) throw usage(`--tests ${file} holds no JSON list of tests`, help);
  return given.map((test, index) => {
    const { data, error } = testSchema.safeParse(test);
    if (data) return data;
    const [issue] = error.issues;
    const place = issue?.path.length ? `${issue.path.join(".")}: ` : "";
    throw usage(`Test ${index + 1} of ${file}: ${place}${issue ? explainIssue(issue, test) : ""}`, help);
  });
}

/** A pipe, which nobody may ever write to, does not hold the command up. */
async function readText(file: string, { spec }: CommandCall): Promise<string> {
  const help = `belljar ${spec.name} --help`;
  try {
    await using opened = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await opened.stat();
    if (!facts.isFile()) throw usage(`${file} is no file`, help);
    if (facts.size > CODE_BYTES_MAX) throw usage(`${file} has ${facts.size} bytes; it may have ${CODE_BYTES_MAX}`, help);
    return await opened.readFile("utf8");
  } catch (cause) {
    if (cause instanceof BelljarError) throw cause;
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw usage(isMissing ? `There is no file ${file}` : `${file} cannot be read: ${(cause as Error).message}`, help);
  }
}
