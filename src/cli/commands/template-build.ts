import { readFile, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileError } from "../../files/file-error.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { readSecrets } from "../build-secrets.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import { networkOption } from "../compose/configured-policy.ts";
import { openStack } from "../compose/open-stack.ts";
import { namedLimits, withoutUndefined } from "../limit-options.ts";
import { printJson, printLine } from "../print.ts";
import { namedStart } from "../start-options.ts";
import { parsePairs } from "../values.ts";

/** What the build does goes to stderr as it does it, so that stdout has the name alone. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [name = ""] = call.positionals;
  const folder = await named(textOption(call, "context") ?? ".", realpath);
  const dockerfile = await named(textOption(call, "file") ?? join(folder, "Dockerfile"), (path) => readFile(path, "utf8"));
  const options = {
    name,
    dockerfile,
    context: folder,
    buildArgs: parsePairs("build-arg", textOptions(call, "build-arg"), context.env),
    secrets: await readSecrets(textOptions(call, "secret"), context.env),
    ...namedStart(call),
    limits: namedLimits(call),
    ...(await networkOption(call)),
    ...withoutUndefined({ target: textOption(call, "target"), description: textOption(call, "description") }),
  };
  await using stack = await openStack(call, context);
  const templates = await stack.templates();
  const template = await templates.make(LOCAL, options, context.signal, (text) => void context.stderr.write(text));
  if (isSet(call, "json")) printJson(context.stdout, template);
  else printLine(context.stdout, template.name);
  return 0;
}

async function named(text: string, read: (path: string) => Promise<string>): Promise<string> {
  const path = resolve(text);
  try {
    return await read(path);
  } catch (cause) {
    throw fileError(path, cause);
  }
}
