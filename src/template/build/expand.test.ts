import { expect, it } from "vitest";
import { expandText } from "./expand.ts";

const VALUES: Readonly<Record<string, string>> = { A: "a", EMPTY: "", B: "$A" };
const expand = (text: string, escape = "\\"): string =>
  expandText(text, { line: 7, escape, find: (name) => (Object.hasOwn(VALUES, name) ? VALUES[name] : undefined) });

it.each([
  ["$A/${A}x$A", "a/axa"],
  ["$NONE-${NONE}", "-"],
  ["$Ab", ""],
  ["$B", "$A"],
  ["${NONE:-x}${EMPTY:-y}${EMPTY-z}${NONE-w}", "xyw"],
  ["${A:+x}${EMPTY:+y}${EMPTY+z}${NONE+w}", "xz"],
  ["${NONE:-${EMPTY:-$A}}", "a"],
  ["${A:?gone}", "a"],
  ["'$A' \"$A 'b'\"", "$A a 'b'"],
  [String.raw`\$A \a "\$A \n \""`, String.raw`$A a $A \n "`],
  ["$ $1 $", "$ $1 $"],
  ['${NONE:-"a}b"}', "a}b"],
])("expands %s to %s", (text, expected) => {
  expect(expand(text)).toBe(expected);
});

it("takes the escape that the file names", () => {
  expect(expand("`$A\\$A", "`")).toBe("$A\\a");
});

it.each([
  ["${", /without a name/],
  ["${A", /not supported/],
  ["${A:-x", /without its \}/],
  ["${A#x}", /not supported/],
  ["${A:}", /not supported/],
  ["${NONE:?is gone}", /NONE is not set: is gone/],
  ["'a", /' without its end/],
  ['"a', /" without its end/],
  ["${A:+".repeat(20) + "}".repeat(20), /lie in one another/],
  ["$A".repeat(70_000), /65536/],
])("refuses %s", (text, message) => {
  expect(() => expand(text)).toThrow(
    expect.objectContaining({ code: "DOCKERFILE_INVALID", message: expect.stringMatching(message) as string }),
  );
  expect(() => expand(text)).toThrow(/^Line 7 /);
});
