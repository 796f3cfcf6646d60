import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import { ifPresent } from "../../files/file-error.ts";
import { parseJson } from "../../files/parse-json.ts";

const recordSchema = z.object({ runtime: z.string() });

/** Throws `CONFIG_INVALID` for a home that has sandboxes, alive or stopped: a server without isolation would see what theirs keep apart. */
export async function assertAlone(home: string): Promise<void> {
  const folder = join(home, "sandboxes");
  for (const id of (await ifPresent(folder, readdir(folder))) ?? []) {
    const path = join(folder, id, "sandbox.json");
    const text = await ifPresent(path, readFile(path, "utf8"));
    if (text === undefined || recordSchema.safeParse(parseJson(text)).data?.runtime === "host") continue;
    throw new BelljarError(
      "CONFIG_INVALID",
      `The home ${home} has sandboxes, as ${id}: name another folder with --home for serve --inside`,
    );
  }
}
