import { dirname, join, resolve } from "node:path";
import { loadConfig } from "../../config/config.ts";
import { ensureHome } from "../../config/private-directory.ts";
import { BelljarError } from "../../errors.ts";
import { createFile, replaceFile } from "../../files/replace-file.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { readConfig } from "../compose/open-stack.ts";
import { readSettings } from "../connect/settings-file.ts";
import type { ImportedConfig } from "../import-config/imported-config.ts";
import { readIsolatorConfig } from "../import-config/isolator-config.ts";
import { printLine } from "../print.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  if (isSet(call, "force") && !isSet(call, "write"))
    throw usage("--force replaces a file: name it with --write", "belljar config import --help");
  const file = resolve(call.positionals[0] ?? "");
  const imported = await readImported(file);
  const text = `${JSON.stringify(imported.settings, null, 2)}\n`;
  if (isSet(call, "write")) printLine(context.stderr, `Wrote ${await write(call, context, text)}`);
  else context.stdout.write(text);
  for (const line of tell(imported)) printLine(context.stderr, line);
  return 0;
}

async function readImported(file: string): Promise<ImportedConfig> {
  try {
    const { text } = await readSettings(file, undefined);
    if (text === undefined) throw new BelljarError("FILE_NOT_FOUND", "there is no such file");
    const imported = readIsolatorConfig(text, dirname(file));
    loadConfig({ env: {}, flags: { home: "/nonexistent", ...imported.settings } });
    return imported;
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    throw new BelljarError(cause.code, `Cannot import ${file}: ${cause.message}`, { cause });
  }
}

/** Returns the path. What a person wrote is replaced only when asked for. */
async function write(call: CommandCall, context: CommandContext, text: string): Promise<string> {
  const { home } = readConfig(call, context);
  ensureHome(home);
  const path = join(home, "config.json");
  if (isSet(call, "force")) await replaceFile(path, text);
  else if (!(await createFile(path, text)))
    throw new BelljarError(
      "FILE_EXISTS",
      `${path} is there already: take over what is printed without --write, or replace it with --force`,
    );
  return path;
}

function tell({ taken, left, images }: ImportedConfig): readonly string[] {
  return [
    ...section("Taken over:", taken),
    ...section("Without a counterpart:", left),
    ...section(
      "Make these templates, which the languages run in:",
      images.map(({ template, image, network }) => `belljar template import ${template} ${image} --network ${network}`),
    ),
  ];
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
}
