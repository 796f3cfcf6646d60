import type { Tool } from "../catalog/tool.ts";
import type { ToolScope } from "../catalog/tool-scope.ts";
import { BelljarError } from "../errors.ts";

/** Another form of the browser's tools, for agents that were built on it. Only who names it has it. */
export const BROWSER_II = "browser-ii";

/** The toolsets of the built-in tools. Where there is a list, these tools alone are shown unasked: a list costs a model context at every turn. */
const TOOLSETS: Readonly<Record<string, { readonly shown: boolean | readonly string[] }>> = {
  files: { shown: ["read_file", "write_file", "edit_file", "apply_patch", "list_directory"] },
  shell: { shown: ["run_command", "process"] },
  search: { shown: ["search_files", "search_content"] },
  code: { shown: ["execute_code", "run_code"] },
  ports: { shown: ["ports"] },
  todo: { shown: false },
  sandbox: { shown: ["sandbox", "sandbox_checkpoint", "sandbox_rollback"] },
  template: { shown: false },
  results: { shown: true },
  git: { shown: false },
  npm: { shown: false },
  web: { shown: false },
  browser: { shown: false },
  [BROWSER_II]: { shown: false },
  desktop: { shown: false },
  tools: { shown: false },
};

/** Names of toolsets that a person may switch on. */
export const TOOLSET_NAMES = Object.keys(TOOLSETS);

/** What a list shows to whoever asked for no toolsets. */
export function isDefaultTool({ name, toolset }: Pick<Tool, "name" | "toolset">): boolean {
  const shown = TOOLSETS[toolset]?.shown ?? false;
  return typeof shown === "boolean" ? shown : shown.includes(name);
}

/** Whether a caller with these toolsets has the tools of `browser-ii`, and so none of `browser`. */
export function hasBrowserIi(toolsets: ToolScope["toolsets"]): boolean {
  return Array.isArray(toolsets) && toolsets.includes(BROWSER_II);
}

/** Why the toolsets are not served together: they have tools of the same names. Undefined if they are. */
export function findClash(toolsets: readonly string[]): string | undefined {
  const [hasBrowser, hasAll] = [toolsets.includes("browser"), toolsets.includes("all")];
  if (!toolsets.includes(BROWSER_II) || !(hasBrowser || hasAll)) return undefined;
  const advice = hasBrowser ? "choose one of the two" : "all means every toolset but browser-ii, so name the others one by one";
  return `The toolsets browser and browser-ii exclude one another: ${advice}`;
}

/** What a person chose by flag or configuration. Throws `CONFIG_INVALID` for a toolset that there is not, and for two that exclude one another. */
export function parseToolScope({ toolsets, readOnly }: { readonly toolsets?: readonly string[]; readonly readOnly: boolean }): ToolScope {
  const unknown = toolsets?.filter((name) => name !== "all" && !Object.hasOwn(TOOLSETS, name)) ?? [];
  if (unknown.length > 0) {
    const known = ["all", ...TOOLSET_NAMES].join(", ");
    throw new BelljarError(
      "CONFIG_INVALID",
      `There is no toolset ${unknown.map((name) => JSON.stringify(name)).join(", ")}: choose of ${known}`,
    );
  }
  const clash = findClash(toolsets ?? []);
  if (clash !== undefined) throw new BelljarError("CONFIG_INVALID", clash);
  return { readOnly, ...(toolsets && { toolsets: toolsets.includes("all") ? "all" : toolsets }) };
}
