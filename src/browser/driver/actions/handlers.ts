import type { AnyHandler } from "../handler.ts";
import { click } from "./click.ts";
import { close } from "./close.ts";
import { drag } from "./drag.ts";
import { evaluate } from "./evaluate.ts";
import { fillForm } from "./fill-form.ts";
import { handleDialog } from "./handle-dialog.ts";
import { hover } from "./hover.ts";
import { consoleLog, network } from "./logs.ts";
import { marked } from "./marked.ts";
import { navigate } from "./navigate.ts";
import { options } from "./options.ts";
import { pdf } from "./pdf.ts";
import { pressKey } from "./press-key.ts";
import { screenshot } from "./screenshot.ts";
import { scroll } from "./scroll.ts";
import { selectOption } from "./select-option.ts";
import { snapshot } from "./snapshot.ts";
import { tabs } from "./tabs.ts";
import { type } from "./type.ts";
import { uploadFile } from "./upload-file.ts";
import { waitFor } from "./wait-for.ts";

/** One for each action. */
export const HANDLERS: readonly AnyHandler[] = [
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
  marked,
  options,
  screenshot,
  tabs,
  uploadFile,
  handleDialog,
  consoleLog,
  network,
  pdf,
  close,
];
