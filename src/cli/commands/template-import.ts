import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import { networkOption } from "../compose/configured-policy.ts";
import { openStack } from "../compose/open-stack.ts";
import { namedLimits, withoutUndefined } from "../limit-options.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { namedStart } from "../start-options.ts";
import type { TemplateOptions } from "../../template/wire/template-schema.ts";
import { usage } from "../usage.ts";

const HELP = "belljar template import --help";

/** What lies there goes before an image of a registry with that name. What begins as a path is always one. */
async function toImage(text: string): Promise<string> {
  const path = resolve(text);
  const isThere = access(path).then(
    () => true,
    () => false,
  );
  return /^\.{0,2}\//.test(text) || (await isThere) ? path : text;
}

function namedSuite(call: CommandCall): TemplateOptions["debian"] {
  const [suite, packages, mirror] = [textOption(call, "debian"), textOptions(call, "package"), textOption(call, "mirror")];
  if (suite !== undefined) return { suite, packages, ...(mirror !== undefined && { mirror }) };
  if (packages.length > 0 || mirror !== undefined) throw usage("--package and --mirror belong to --debian: name a suite", HELP);
  return undefined;
}

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [name = "", image] = call.positionals;
  const snapshot = textOption(call, "snapshot");
  const folder = textOption(call, "folder");
  const debian = namedSuite(call);
  if ([image, snapshot, folder, debian].filter((one) => one !== undefined).length !== 1)
    throw usage("A template is made from an image, a snapshot, a folder or a Debian suite: name one of them", HELP);
  const options = {
    name,
    ...withoutUndefined({
      image: image === undefined ? undefined : await toImage(image),
      snapshot,
      folder: folder === undefined ? undefined : resolve(folder),
      debian,
      platform: textOption(call, "platform"),
      description: textOption(call, "description"),
    }),
    ...namedStart(call),
    limits: namedLimits(call),
    ...(await networkOption(call)),
  };
  await using stack = await openStack(call, context);
  const templates = await stack.templates();
  const template = await withProgress(context.stderr, "Making the template", templates.make(LOCAL, options, context.signal));
  if (isSet(call, "json")) printJson(context.stdout, template);
  else printLine(context.stdout, template.name);
  return 0;
}
