import { BelljarError } from "../../../errors.ts";
import { readSettingsText } from "../../../files/read-settings-text.ts";

/** The text of a file that a person named, or undefined if there is none. Rejects with `CONFIG_INVALID`, which has the path. */
export async function loadNamedText(path: string): Promise<string | undefined> {
  return readSettingsText(path).catch((cause: unknown) => {
    throw new BelljarError("CONFIG_INVALID", `${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  });
}

/** The text of a host's configuration. Rejects with `CONFIG_INVALID`, which has the path, if it cannot be read or is not there. */
export async function loadConfigText(path: string): Promise<string> {
  const text = await loadNamedText(path);
  if (text === undefined) throw new BelljarError("CONFIG_INVALID", `There is no file ${path}: name one with mcpServers in it`);
  return text;
}
