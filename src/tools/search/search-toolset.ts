import type { Tool } from "../../catalog/tool.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { createSearchCode } from "./search-code.ts";
import { createSearchContent } from "./search-content.ts";
import { createSearchFiles } from "./search-files.ts";
import type { SearchPrograms } from "./search-programs.ts";

/** The tools that search a sandbox's files, by programs that run inside. */
export function searchToolset(config: ToolLimits, programs: SearchPrograms = {}): readonly Tool[] {
  return [createSearchFiles(config, programs), createSearchContent(programs), createSearchCode(programs)];
}
