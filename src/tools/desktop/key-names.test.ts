import { expect, it } from "vitest";
import { parseChords, parseModifiers } from "./key-names.ts";

it.each([
  ["Return", ["Return"]],
  ["ENTER", ["Return"]],
  ["ctrl+s", ["ctrl+s"]],
  ["CTRL+SHIFT+A", ["ctrl+shift+a"]],
  ["shift+A", ["shift+A"]],
  ["A", ["A"]],
  ["cmd+option+ESC", ["super+alt+Escape"]],
  ["ArrowDown page_up PgDn f5 Tab", ["Down", "Page_Up", "Page_Down", "F5", "Tab"]],
  [" ", ["space"]],
  ["+", ["U002B"]],
  ["ctrl++", ["ctrl+U002B"]],
  ["ctrl+- / é 😀", ["ctrl+U002D", "U002F", "U00E9", "U1F600"]],
  ["XF86AudioPlay KP_Enter", ["XF86AudioPlay", "KP_Enter"]],
])("reads %j as xdotool's keys", (text, chords) => {
  expect(parseChords(text)).toEqual(chords);
});

it.each(["", "  \n", "+a", "a+", "ctrl+ +", "$(id)", "--help", "a;b", "constructor-", "x".repeat(41), "a ".repeat(51), "ctrl+a+b+c+d+e+f"])(
  "refuses %j",
  (text) => {
    expect(() => parseChords(text)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
  },
);

it("holds modifiers alone", () => {
  expect(parseModifiers("Ctrl+Shift")).toEqual(["ctrl", "shift"]);
  for (const text of ["a", "ctrl+a", "", "__proto__"])
    expect(() => parseModifiers(text)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});
