import type { Tool } from "../../catalog/tool.ts";
import type { Texts } from "../../text/texts.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { createApplyPatch } from "./apply-patch.ts";
import { createDirectory } from "./create-directory.ts";
import { createDeleteFile } from "./delete-file.ts";
import { createEditFile } from "./edit-file.ts";
import { createFileChanger } from "./file-changer.ts";
import { fileInfo } from "./file-info.ts";
import { createListDirectory } from "./list-directory.ts";
import { moveFile } from "./move-file.ts";
import { createReadFile } from "./read-file.ts";
import { createUndoEdit } from "./undo-edit.ts";
import { createWriteFile } from "./write-file.ts";

/** The tools that read and change a sandbox's files; those that change them take turns. */
export function fileTools(config: ToolLimits, texts: Texts): readonly Tool[] {
  const changer = createFileChanger();
  return [
    createReadFile(),
    createWriteFile(changer),
    createEditFile(changer, texts),
    createApplyPatch(changer, texts),
    createUndoEdit(changer, texts),
    createListDirectory(config),
    createDirectory,
    moveFile,
    createDeleteFile(changer),
    fileInfo,
  ];
}
