import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { BelljarError } from "../../errors.ts";
import { fileError, ifPresent } from "../../files/file-error.ts";
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
  const folder = resolve(textOption(call, "context") ?? "."); // with a server it lies there
  const file = textOption(call, "file");
  const dockerfile = file === undefined ? await readIn(folder) : await read(resolve(file));
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

/** The Dockerfile of a context that may lie on the server alone. */
async function readIn(folder: string): Promise<string> {
  const path = join(folder, "Dockerfile");
  const text = await ifPresent(path, readFile(path, "utf8"));
  if (text !== undefined) return text;
  throw new BelljarError("FILE_NOT_FOUND", `There is no ${path} on this machine, where the Dockerfile is read: name it with -f FILE`);
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw fileError(path, cause);
  }
}
