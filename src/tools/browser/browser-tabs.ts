import { CLOSE } from "../../browser/actions/close.ts";
import { PDF, PDF_FIELDS } from "../../browser/actions/pdf.ts";
import { TABS, TABS_FIELDS } from "../../browser/actions/tabs.ts";
import { markOutside } from "../../catalog/outside-text.ts";
import { oneLine } from "./one-line.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { callBrowser } from "./browser-call.ts";
import { browserTool } from "./browser-tool.ts";

export const tabs = browserTool({
  name: "browser_tabs",
  title: "Tabs of the browser",
  description: "Lists your tabs, opens, selects or closes one. Other calls go to the current tab. At most 20.",
  fields: TABS_FIELDS,
  findProblem: ({ action, index }) => (action === "select" && index === undefined ? "select needs an index" : undefined),
  value: TABS.value,
  async run(call, args) {
    const { value } = await callBrowser(call, TABS, args);
    const rows = value.tabs.map(({ url, title, current }, index) => `${index}${current ? " (current)" : ""}: ${title} ${url}`);
    return textResult(value, rows.length === 0 ? "[No tab is open]" : markOutside(rows.map(oneLine).join("\n")));
  },
});

export const pdf = browserTool({
  name: "browser_pdf",
  title: "Print a page as PDF",
  description: "Writes the page as a PDF into a file of the sandbox.",
  fields: PDF_FIELDS,
  value: PDF.value,
  async run(call, args) {
    const { value } = await callBrowser(call, PDF, args);
    return textResult(value, `${value.path}: ${value.bytes} bytes`);
  },
});

export const close = browserTool({
  name: "browser_close",
  title: "Close the browser",
  description: "Closes your tabs. The browser ends by itself when nobody uses it.",
  fields: {},
  value: CLOSE.value,
  async run(call) {
    const { value } = await callBrowser(call, CLOSE, {});
    return textResult(value, `Closed ${value.closed} tabs`);
  },
});
