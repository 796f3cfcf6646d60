import { expect, it } from "vitest";
import { expandText } from "../../../template/build/expand.ts";
import type { Step } from "../../../template/build/instructions.ts";
import { type TemplateStep, toBuild } from "./template-steps.ts";

const HASH = "a".repeat(64);
const steps = (...all: readonly TemplateStep[]): readonly Step[] =>
  toBuild(all, { image: "base", user: "user", workdir: "/" }, false).file.stages[0]!.steps;

/** As the builder reads a text, where `A` is `x`. */
const read = (text: string): string => expandText(text, { line: 1, escape: "\\", find: (name) => (name === "A" ? "x" : undefined) });

it.each([`it's`, `a"b`, "$A $B", "`id` $(id)", "C:\\dir\\", "\\\\", "a\nb", "'; rm -rf /; '", "\u{1f600}"])(
  "the path %j is copied as it is",
  (path) => {
    const [copy] = steps({ type: "COPY", args: [path, "/x", path], filesHash: HASH });
    expect(copy).toMatchObject({ kind: "copy", from: HASH });
    const { sources = [], chown = "" } = copy as { sources?: readonly string[]; chown?: string };
    expect([...sources, chown].map(read)).toEqual([path, path]);
  },
);

it.each([
  ["$A/y", "x/y"],
  ["${A}", "x"],
  ["\\$A", "$A"],
  [`it's "q" \\ \\n`, `it's "q" \\ \\n`],
  ["a\nb", "a\nb"],
  ["end\\", "end\\"],
  ["", ""],
])("the value %j is %j", (value, expected) => {
  const [env] = steps({ type: "ENV", args: ["V", value] });
  expect((env as { pairs: readonly (readonly [string, string])[] }).pairs.map(([, text]) => read(text))).toEqual([expected]);
});

it("a command is one argument of a shell, and another user's changes nobody else's", () => {
  const [before, run, after] = steps({ type: "RUN", args: ["echo 'a' \"$b\"; x", "root"] });
  expect([before, after]).toMatchObject([
    { kind: "user", value: "'root'" },
    { kind: "user", value: "'user'" },
  ]);
  expect((run as { command: { argv: readonly string[] } }).command.argv.at(-1)).toBe("echo 'a' \"$b\"; x");
});

it.each([
  ["a", "a"],
  ["./a/b", "a/b"],
  ["*.txt", "."],
  ["a/b/*.txt", "a/b"],
  ["a/{b,c}/d", "a"],
  ["node_modules/@x/y", "node_modules/@x/y"],
  ["a/@(b|c)", "a"],
])("of %s the archive is copied from %s", (source, from) => {
  const [copy] = steps({ type: "COPY", args: [source, "/x"], filesHash: HASH });
  expect((copy as { sources: readonly string[] }).sources.map(read)).toEqual([from]);
});

it.each(["/etc", "../x", "a/../../x"])("%s is outside of the context", (source) => {
  expect(() => steps({ type: "COPY", args: [source, "/x"], filesHash: HASH })).toThrow(
    expect.objectContaining({ code: "ARGUMENTS_INVALID" }),
  );
});

it("what is done again begins with the first step that says so, or with all", () => {
  const two = [
    { type: "RUN", args: ["a"] },
    { type: "RUN", args: ["b"], force: true },
  ];
  expect([true, false].map((all) => toBuild(two, { image: "base" }, all).freshFrom)).toEqual([0, 2]);
  expect(toBuild([{ type: "RUN", args: ["a"] }], { image: "base" }, false).freshFrom).toBeUndefined();
});
