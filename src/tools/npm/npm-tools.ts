import type { Tool } from "../../catalog/tool.ts";
import { npmInstall } from "./npm-install.ts";
import { npmRun } from "./npm-run.ts";
import { npmTest } from "./npm-test.ts";

/** npm, for projects that use it. */
export const npmTools: readonly Tool[] = [npmInstall, npmRun, npmTest];
