import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { fileError } from "../../files/file-error.ts";
import { MANIFEST } from "../store/manifest.ts";
import { hasFile, listLinks, listNames, readUnit, toRealFolder } from "../store/units-in-folder.ts";
import type { FoundUnit } from "./found-unit.ts";
import { readMcpBoxFile } from "./mcp-box-file.ts";

/**
 * The units at the path, one after the other: of a folder as `tool export` writes it, of one unit's folder, or of MCP Box's `mcp-tool.json`.
 * No link inside a folder is followed. Rejects with `FILE_IO` if there is nothing to read, and with `ARGUMENTS_INVALID` for another file.
 */
export async function* findUnits(path: string, report: (problem: string) => void): AsyncGenerator<FoundUnit, void, undefined> {
  const found = await stat(path).catch((cause: unknown) => {
    throw fileError(path, cause);
  });
  if (found.isDirectory()) yield* unitsOfFolder(toRealFolder(path), report);
  else yield* await readMcpBoxFile(path);
}

/** A manifest lies in the folder of one unit, and never beside several. */
async function* unitsOfFolder(root: string, report: (problem: string) => void): AsyncGenerator<FoundUnit, void, undefined> {
  const isUnit = hasFile(root, MANIFEST);
  const [folder, names] = isUnit ? [dirname(root), [basename(root)]] : [root, listNames(root, report)];
  for (const name of names) {
    const found = await readUnit(folder, name);
    if (found) yield { name, found };
  }
  for (const name of isUnit ? [] : listLinks(root)) yield { name, found: { kind: "invalid", problem: LINK } };
}

const LINK = { file: "", message: "is a link: put the folder itself there" };
