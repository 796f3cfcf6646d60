import { expect, it } from "vitest";
import type { Checkpoint } from "../sandbox/wire/state-schemas.ts";
import { coloursFor } from "./colours.ts";
import { renderTimeLine } from "./render-time-line.ts";

const now = new Date("2026-01-01T00:10:00Z");
const view = { colours: coloursFor({}), state: "running", lines: 100, now };

/** `id<parent`, the oldest first. */
function line(text: string): readonly Checkpoint[] {
  return text.split(" ").map((one) => {
    const [id = "", parent] = one.split("<");
    return { id, ...(parent !== undefined && { parent }), createdAt: new Date("2026-01-01T00:00:00Z"), way: "copy", stillMs: 1 };
  });
}

const draw = (text: string, head?: string, lines = 100): string =>
  `\n${renderTimeLine({ checkpoints: line(text), ...(head !== undefined && { head }) }, { ...view, lines })}`.replaceAll(
    "  10 minutes ago",
    "",
  );

it("shows a sandbox without checkpoints", () => {
  expect(renderTimeLine({ checkpoints: [] }, view)).toBe("* now  running\n");
});

it("draws checkpoints one below the other, with their words and times", () => {
  const checkpoints = line("a b<a c<b").map((one) => ({
    ...one,
    ...(one.id === "b" && { label: "before\u001b[2J it", before: "run_command" }),
  }));
  expect(renderTimeLine({ checkpoints, head: "c" }, view)).toBe(
    [
      "* now  running",
      "* c  10 minutes ago",
      "* b  before\\u{1b}[2J it  before run_command  10 minutes ago",
      "* a  10 minutes ago",
      "",
    ].join("\n"),
  );
});

it("draws a way that was left by a rollback", () => {
  expect(draw("a b<a c<b", "a")).toBe(`
* now  running
| * c
| * b
|/
* a
`);
});

it("draws several ways, which end where they were left", () => {
  expect(draw("a b<a c<a d<a e<c", "e")).toBe(`
* now  running
* e
| * d
* | c
| | * b
|_|/
|/
* a
`);
});

it("leads a far way past the ways between", () => {
  expect(draw("a x b<a c<x d<a", "d")).toBe(`
* now  running
* d
| * c
| | * b
| * | x
|  /
|/
* a
`);
  expect(draw("a b<a x<a c<x d<b", "x")).toBe(`
* now  running
| * d
| | * c
|_|/
* | x
| * b
|/
* a
`);
});

it("shows the newest, and how many are left out", () => {
  expect(draw("a b<a c<b", "c", 2)).toBe(`
* now  running
* c
* b
1 older: --lines N shows more
`);
});
