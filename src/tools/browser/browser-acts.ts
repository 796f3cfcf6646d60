import { CLICK, CLICK_FIELDS } from "../../browser/actions/click.ts";
import { endsOf } from "../../browser/actions/drag-ends.ts";
import { DRAG, DRAG_FIELDS } from "../../browser/actions/drag.ts";
import { findTargetProblem } from "../../browser/actions/fields.ts";
import { FILL_FORM, FILL_FORM_FIELDS } from "../../browser/actions/fill-form.ts";
import { HANDLE_DIALOG, HANDLE_DIALOG_FIELDS } from "../../browser/actions/handle-dialog.ts";
import { HOVER, HOVER_FIELDS } from "../../browser/actions/hover.ts";
import { PRESS_KEY, PRESS_KEY_FIELDS } from "../../browser/actions/press-key.ts";
import { SCROLL, SCROLL_FIELDS } from "../../browser/actions/scroll.ts";
import { SELECT_OPTION, SELECT_OPTION_FIELDS } from "../../browser/actions/select-option.ts";
import { TYPE, TYPE_FIELDS } from "../../browser/actions/type.ts";
import { UPLOAD_FILE, UPLOAD_FILE_FIELDS } from "../../browser/actions/upload-file.ts";
import { WAIT_FOR, WAIT_FOR_FIELDS } from "../../browser/actions/wait-for.ts";
import { actTool, oneTarget, targetOrNone } from "./browser-tool.ts";

export const click = actTool({
  name: "browser_click",
  title: "Click in the browser",
  description:
    "Clicks an element, named by ref (of a snapshot) or selector (CSS), or a point of the viewport. Answers what changed, as all actions do: navigation, dialog, downloads, errors, changes of the tree.",
  fields: CLICK_FIELDS,
  action: CLICK,
  findProblem: oneTarget,
});

export const type = actTool({
  name: "browser_type",
  title: "Type in the browser",
  description: "Types text into a field, in the place of what it has, or where the focus is if none is named.",
  fields: TYPE_FIELDS,
  action: TYPE,
  findProblem: targetOrNone,
});

export const fillForm = actTool({
  name: "browser_fill_form",
  title: "Fill a form in the browser",
  description: "Fills several fields of a form in one call.",
  fields: FILL_FORM_FIELDS,
  action: FILL_FORM,
  findProblem: ({ fields }) => fields.map((field) => findTargetProblem(field)).find((problem) => problem !== undefined),
});

export const pressKey = actTool({
  name: "browser_press_key",
  title: "Press a key in the browser",
  description: "Presses a key or a chord where the focus is.",
  fields: PRESS_KEY_FIELDS,
  action: PRESS_KEY,
});

export const selectOption = actTool({
  name: "browser_select_option",
  title: "Select in a list of the browser",
  description: "Selects options of a drop-down list (select). Of one that a page draws itself, click the options.",
  fields: SELECT_OPTION_FIELDS,
  action: SELECT_OPTION,
  findProblem: oneTarget,
});

export const hover = actTool({
  name: "browser_hover",
  title: "Hover in the browser",
  description: "Moves the mouse over an element or point.",
  fields: HOVER_FIELDS,
  action: HOVER,
  findProblem: oneTarget,
});

export const drag = actTool({
  name: "browser_drag",
  title: "Drag in the browser",
  description: "Drags from one element or point to another.",
  fields: DRAG_FIELDS,
  action: DRAG,
  findProblem: (args) =>
    endsOf(args)
      .map((end) => findTargetProblem(end))
      .find((problem) => problem !== undefined),
});

export const scroll = actTool({
  name: "browser_scroll",
  title: "Scroll in the browser",
  description: "Scrolls the page, or what is under an element or point; with an element and no direction, until it is in view.",
  fields: SCROLL_FIELDS,
  action: SCROLL,
  findProblem: (args) =>
    args.direction === undefined && args.ref === undefined && args.selector === undefined
      ? "name a direction, or an element that is to come into view"
      : targetOrNone(args),
});

export const waitFor = actTool({
  name: "browser_wait_for",
  title: "Wait for the browser",
  description: "Waits until the page is as described; without anything, until it has loaded and is quiet.",
  fields: WAIT_FOR_FIELDS,
  action: WAIT_FOR,
});

export const uploadFile = actTool({
  name: "browser_upload_file",
  title: "Give a page files",
  description: "Gives files of the sandbox to a file field, or to the button that asks for them.",
  fields: UPLOAD_FILE_FIELDS,
  action: UPLOAD_FILE,
  findProblem: oneTarget,
});

export const handleDialog = actTool({
  name: "browser_handle_dialog",
  title: "Answer a dialog of a page",
  description: "Accepts or dismisses the open dialog (alert, confirm, prompt, leave page).",
  fields: HANDLE_DIALOG_FIELDS,
  action: HANDLE_DIALOG,
});
