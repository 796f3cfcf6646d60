import type { Tool } from "../../catalog/tool.ts";
import { click, drag, fillForm, handleDialog, hover, pressKey, scroll, selectOption, type, uploadFile, waitFor } from "./browser-acts.ts";
import type { BrowserSource } from "./browser-call.ts";
import { consoleLog, network } from "./browser-logs.ts";
import { close, pdf, tabs } from "./browser-tabs.ts";
import type { BrowserTool } from "./browser-tool.ts";
import { evaluate } from "./evaluate.ts";
import { navigate } from "./navigate.ts";
import { screenshot } from "./screenshot.ts";
import { snapshot } from "./snapshot.ts";

const TOOLS: readonly BrowserTool[] = [
  navigate,
  snapshot,
  click,
  type,
  fillForm,
  pressKey,
  selectOption,
  hover,
  drag,
  scroll,
  waitFor,
  evaluate,
  screenshot,
  tabs,
  uploadFile,
  handleDialog,
  consoleLog,
  network,
  pdf,
  close,
];

/** A browser in the caller's sandbox. */
export function browserTools(browsers: BrowserSource): readonly Tool[] {
  return TOOLS.map((create) => create(browsers));
}
