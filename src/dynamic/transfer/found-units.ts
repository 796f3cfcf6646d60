import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { fileError } from "../../files/file-error.ts";
import { UNIT_FILES } from "../store/read-unit-folder.ts";
import { hasFile, listLinks, listNames, readUnit, toRealFolder } from "../store/units-in-folder.ts";
import type { FoundUnit } from "./found-unit.ts";
import { MCP_BOX_FILE, readMcpBoxFile } from "./mcp-box-file.ts";

/**
 * The units at the path, one after the other: of a folder as `tool export` writes it, of one unit's folder, or of MCP Box's `mcp-tool.json`.
 * No link inside a folder is followed. Rejects with `FILE_IO` if the path cannot be read, and with `ARGUMENTS_INVALID` for another file and
 * for a folder that has no unit.
 */
export async function* findUnits(path: string, report: (problem: string) => void): AsyncGenerator<FoundUnit, void, undefined> {
  const found = await stat(path).catch((cause: unknown) => {
    throw fileError(path, cause);
  });
  if (found.isDirectory()) yield* unitsOfFolder(toRealFolder(path), report);
  else yield* await readMcpBoxFile(path);
}

async function* unitsOfFolder(root: string, report: (problem: string) => void): AsyncGenerator<FoundUnit, void, undefined> {
  const isUnit = UNIT_FILES.some((file) => hasFile(root, file));
  const [folder, names] = isUnit ? [dirname(root), [basename(root)]] : [root, listNames(root, report)];
  let isEmpty = true;
  for (const name of names) {
    const found = await readUnit(folder, name);
    if (!found) continue;
    isEmpty = false;
    yield { name, found };
  }
  const links = isUnit ? [] : listLinks(root);
  for (const name of links) yield { name, found: { kind: "invalid", problem: LINK } };
  if (isEmpty && links.length === 0) throw noUnit(root);
}

const LINK = { file: "", message: "is a link: put the folder itself there" };

function noUnit(root: string): BelljarError {
  const todo = hasFile(root, MCP_BOX_FILE)
    ? `name the file ${join(root, MCP_BOX_FILE)}`
    : "name a folder of tools, or that of one tool, whose name is the tool's";
  return new BelljarError("ARGUMENTS_INVALID", `${root} has no tools: ${todo}`);
}
