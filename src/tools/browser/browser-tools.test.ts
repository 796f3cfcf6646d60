import { expect, it } from "vitest";
import { toolTokens } from "../../catalog/tool-tokens.ts";
import { browserIiTools } from "../browser-ii/browser-ii-tools.ts";
import { isDefaultTool } from "../toolsets.ts";
import { browserTools } from "./browser-tools.ts";
import { noBrowsers } from "./no-browsers.ts";

const TOOLS_MAX = 20;
const TOKENS_MAX = 3_000;

const ours = browserTools(noBrowsers);
const theirs = browserIiTools(noBrowsers);

it("costs a context that lists it little, and no other context anything", () => {
  for (const tools of [ours, theirs]) {
    expect(tools.length).toBeLessThanOrEqual(TOOLS_MAX);
    expect(tools.reduce((sum, tool) => sum + toolTokens(tool), 0)).toBeLessThanOrEqual(TOKENS_MAX);
    expect(tools.filter(isDefaultTool)).toEqual([]);
  }
});

it("takes the same arguments under a name that both toolsets have", () => {
  const both = theirs.filter(({ name }) => ours.some((tool) => tool.name === name));
  expect(both.map(({ name }) => name)).toEqual(["browser_click", "browser_drag", "browser_press_key"]);
  for (const { name, input } of both) expect(input.schema, name).toEqual(ours.find((tool) => tool.name === name)?.input.schema);
});

it("takes the arguments that agents know of browser-ii", async () => {
  const known: Readonly<Record<string, object>> = {
    browser_click: { coordinate_x: 1, coordinate_y: 2, double_click: true },
    browser_drag: { coordinate_x_start: 1, coordinate_y_start: 2, coordinate_x_end: 3, coordinate_y_end: 4 },
    browser_enter_text: { text: "a", coordinate_x: 1, coordinate_y: 2, press_enter: true, override: true },
    browser_enter_multi_texts: { enter_texts: [{ text: "a", coordinate_x: 1, coordinate_y: 2 }, { text: "b" }] },
    browser_get_select_options: { index: 3 },
    browser_select_dropdown_option: { index: 3, option: "Red" },
    browser_navigation: { url: "http://a.test/" },
    browser_restart: { url: "http://a.test/" },
    browser_press_key: { key: "Control+Enter" },
    browser_scroll_down: {},
    browser_scroll_up: {},
    browser_switch_tab: { index: 1 },
    browser_open_new_tab: {},
    browser_view_interactive_elements: {},
    browser_wait: {},
  };
  expect(theirs.map(({ name }) => name).toSorted()).toEqual(Object.keys(known).toSorted());
  for (const { name, input } of theirs) expect(await input.parse(known[name]), name).toHaveProperty("value");
});

it.each([
  ["browser_click", {}, /by ref, selector or coordinates/],
  ["browser_click", { ref: "e1", selector: "a" }, /one of ref, selector and coordinates/],
  ["browser_click", { coordinate_x: 1 }, /belong together/],
  ["browser_drag", { start_ref: "e1" }, /by ref, selector or coordinates/],
  ["browser_navigate", {}, /either url or go/],
  ["browser_navigate", { url: "a", go: "back" }, /either url or go/],
  ["browser_scroll", { coordinate_x: 1, coordinate_y: 1 }, /a direction, or an element/],
  ["browser_tabs", { action: "select" }, /select needs an index/],
  ["browser_fill_form", { fields: [{ ref: "e1", value: "a" }, { value: "b" }] }, /by ref, selector or coordinates/],
  ["browser_screenshot", { ref: "e1", full_page: true }, /the whole page or of one element/],
])("refuses what %s cannot be told to do: %j", async (name, args, problem) => {
  const parsed = await ours.find((tool) => tool.name === name)?.input.parse(args);
  expect(JSON.stringify(parsed)).toMatch(problem);
});
