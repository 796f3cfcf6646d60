import { readFile } from "node:fs/promises";
import { extname, parse } from "node:path";
import type { ToolLanguage, UnitSpec } from "../../dynamic/unit.ts";
import { parseJson } from "../../files/parse-json.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import { networkOption } from "../compose/configured-policy.ts";
import { openStack } from "../compose/open-stack.ts";
import { choiceOption, namedLimits, withoutUndefined } from "../limit-options.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { usage } from "../usage.ts";
import { parseDuration, parseSecretOptions } from "../values.ts";

const LANGUAGES: Readonly<Record<string, ToolLanguage>> = {
  ".py": "python",
  ".js": "javascript",
  ".mjs": "javascript",
  ".cjs": "javascript",
  ".ts": "typescript",
  ".mts": "typescript",
  ".sh": "shell",
};

/** `tool add` and `tool update`. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const isUpdate = call.spec.name === "tool update";
  const [name, file = ""] = isUpdate
    ? call.positionals
    : [textOption(call, "name") ?? defaultName(call.positionals[0] ?? ""), call.positionals[0]];
  const spec = await readSpec(call, file);
  await using stack = await openStack(call, context);
  const tools = await stack.userTools();
  const options = { publish: !isSet(call, "draft") };
  const keep = isUpdate
    ? tools.update(LOCAL, { name: name ?? "", spec }, context.signal, options)
    : tools.add(LOCAL, { name, spec }, context.signal, options);
  const unit = await withProgress(context.stderr, "Reading the tool", keep);
  if (isSet(call, "json")) printJson(context.stdout, unit);
  else printLine(context.stdout, unit.name);
  return 0;
}

/** A script need not name itself. Other code names its tools. */
function defaultName(file: string): string | undefined {
  const { name, ext } = parse(file);
  return ext === ".sh" ? name : undefined;
}

async function readSpec(call: CommandCall, file: string): Promise<UnitSpec> {
  const language = LANGUAGES[extname(file).toLowerCase()];
  if (!language) throw usage(`"${file}" has none of the endings ${Object.keys(LANGUAGES).join(", ")}`, `belljar ${call.spec.name} --help`);
  const limits = namedLimits(call);
  const secrets = textOptions(call, "secret");
  const timeout = textOption(call, "timeout");
  const tests = textOption(call, "tests");
  return withoutUndefined({
    language,
    code: await readText(file, call),
    ...(await networkOption(call)),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(secrets.length > 0 && { secrets: parseSecretOptions(secrets) }),
    ...(timeout !== undefined && { timeoutMs: parseDuration("timeout", timeout) }),
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
