import type { Tool } from "../catalog/tool.ts";
import { noScripts, type RunScript } from "../dynamic/run/script.ts";
import { noUserTools, type UnitLife } from "../dynamic/unit-life.ts";
import type { Interpreter } from "../interpreter/interpreter.ts";
import type { ShellSessions } from "../interpreter/lasting/shell-sessions.ts";
import type { Sandboxes } from "../sandbox/sandbox.ts";
import { noTemplates, type Templates } from "../template/templates.ts";
import type { Texts } from "../text/texts.ts";
import { browserTools } from "./browser/browser-tools.ts";
import type { BrowserSource } from "./browser/browser-call.ts";
import { noBrowsers } from "./browser/no-browsers.ts";
import { browserIiTools } from "./browser-ii/browser-ii-tools.ts";
import { createExecuteCode } from "./code/execute-code.ts";
import { contexts } from "./code/contexts.ts";
import { createRunCode } from "./code/run-code.ts";
import { createExecuteToolsScript } from "./code/script/execute-tools-script.ts";
import { desktopTools } from "./desktop/desktop-tools.ts";
import { callTool } from "./discovery/call-tool.ts";
import { describeToolTool } from "./discovery/describe-tool.ts";
import { searchTools } from "./discovery/search-tools.ts";
import { fileTools } from "./files/file-tools.ts";
import { gitTools } from "./git/git-tools.ts";
import type { PortUrls } from "./ports/port-urls.ts";
import { portTools } from "./ports/port-tools.ts";
import { npmTools } from "./npm/npm-tools.ts";
import { readResult } from "./results/read-result.ts";
import type { SearchPrograms } from "./search/search-programs.ts";
import { searchToolset } from "./search/search-toolset.ts";
import { sandboxTools } from "./sandbox/sandbox-tools.ts";
import type { LateCommands } from "./shell/late-commands.ts";
import { shellTools } from "./shell/shell-tools.ts";
import { templateTools } from "./template/template-tools.ts";
import { todoTools } from "./todo/todo-tools.ts";
import type { ToolLimits } from "./tool-limits.ts";
import { userTools } from "./user-tools/user-tools.ts";
import type { WebToolsOptions } from "./web/web-tools.ts";
import { webTools } from "./web/web-tools.ts";

export interface BuiltinToolsOptions {
  readonly interpreter: Interpreter;
  readonly sandboxes: Pick<Sandboxes, "create" | "list" | "snapshots">;
  readonly shells: ShellSessions;
  /** Owns commands that ran out of time; whoever made it disposes it. */
  readonly late: LateCommands;
  readonly texts: Texts;
  /** The folder that `snippet_name` names files of; absent: there are no snippets. */
  readonly snippetsDirectory?: string;
  /** Where this process serves ports; absent: it does not, and makes no links. */
  readonly portUrls?: PortUrls;
  /** Paths inside of the search programs, where they are not the ones that Belljar puts into its sandboxes. */
  readonly programs?: SearchPrograms;
  readonly web?: WebToolsOptions;
  /** Absent: none are started, and the tools say so. */
  readonly browsers?: BrowserSource;
  /** Absent: none are kept, and the tools say so. */
  readonly templates?: () => Promise<Templates>;
  /** Absent: none are kept, and the tools say so. */
  readonly userTools?: () => Promise<UnitLife>;
  /** Absent: scripts that call tools are refused. */
  readonly runScript?: RunScript;
  /** Agents publish tools without the person. Default false. */
  readonly agentPublish?: boolean;
  readonly config: ToolLimits;
}

/** The tools that come with Belljar, in the order in which they are listed. */
export function builtinTools(options: BuiltinToolsOptions): readonly Tool[] {
  const { interpreter, sandboxes, shells, late, texts, snippetsDirectory, programs, portUrls, web, browsers, templates, config } = options;
  return [
    createExecuteCode({ interpreter, config, ...(snippetsDirectory !== undefined && { snippetsDirectory }) }),
    createRunCode(config),
    contexts,
    createExecuteToolsScript({ runScript: options.runScript ?? noScripts, config }),
    ...shellTools(shells, late, config),
    ...fileTools(config, texts),
    ...searchToolset(config, programs),
    ...sandboxTools(sandboxes, config),
    ...templateTools(templates ?? noTemplates),
    ...portTools(portUrls),
    readResult,
    ...todoTools,
    ...gitTools,
    ...npmTools,
    ...webTools(web),
    ...browserTools(browsers ?? noBrowsers),
    ...desktopTools(portUrls),
    ...userTools({ life: options.userTools ?? noUserTools, texts, agentPublish: options.agentPublish ?? false }),
    searchTools,
    describeToolTool,
    callTool,
  ];
}

/** Those of the toolset that has other tools under names of `builtinTools`. Only who names it has them. */
export function otherBuiltinTools({ browsers = noBrowsers }: Pick<BuiltinToolsOptions, "browsers"> = {}): readonly Tool[] {
  return browserIiTools(browsers);
}
