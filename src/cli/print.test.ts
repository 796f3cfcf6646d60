import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import { toExitCode } from "./exit-code.ts";
import { formatBytes, formatWhen, printJson, printLine, printTable } from "./print.ts";
import { isConsequence, reportFailure } from "./report-failure.ts";

function readAll(stream: PassThrough): string {
  return String(stream.read() ?? "");
}

it("aligns columns", () => {
  const out = new PassThrough();
  printTable(out, [["abcdefgh", "running"]], ["ID", "STATE"]);
  expect(readAll(out)).toBe("ID        STATE\nabcdefgh  running\n");
});

it("aligns any number of rows", () => {
  const out = new PassThrough({ highWaterMark: 2 ** 24 });
  printTable(
    out,
    Array.from({ length: 200_000 }, () => ["a", "b"]),
    ["LONG", "B"],
  );
  expect(readAll(out).slice(0, 16)).toBe("LONG  B\na     b\n");
});

it("escapes control characters in everything that it prints", () => {
  const out = new PassThrough();
  const hostile = "a\u001b[2J\u202eb";
  printLine(out, hostile);
  printTable(out, [[`${hostile}\nc`]]);
  printJson(out, { hostile: `${hostile}\u009b` });
  reportFailure(new BelljarError("FILE_NOT_FOUND", hostile), { stderr: out, debug: true, failureCode: 1 });
  const text = readAll(out);
  expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  expect(text.split("\n").slice(0, 2)).toEqual(["a\\u{1b}[2J\\u{202e}b", "a\\u{1b}[2J\\u{202e}b\\u{a}c"]);
});

it("formats sizes and times for people", () => {
  const now = new Date(0);
  expect([formatBytes(0), formatBytes(1536), formatBytes(2 ** 31)]).toEqual(["0 B", "1.5 KiB", "2 GiB"]);
  const when = (seconds: number) => formatWhen(new Date(seconds * 1000), now);
  expect([when(0), when(3600), when(-1), when(-119), when(-180), when(172_799), when(-172_800)]).toEqual([
    "now",
    "in 60 minutes",
    "1 second ago",
    "119 seconds ago",
    "3 minutes ago",
    "in 48 hours",
    "2 days ago",
  ]);
});

it("turns a signal into 128 plus its number", () => {
  expect([toExitCode({ exitCode: 3 }), toExitCode({ signal: "SIGKILL" })]).toEqual([3, 137]);
});

it("reports a foreseen failure without a stack, or with it on --debug", () => {
  const stderr = new PassThrough();
  const error = new BelljarError("FILE_NOT_FOUND", "No such file: a");
  expect(reportFailure(error, { stderr, debug: false, failureCode: 125 })).toBe(125);
  expect(readAll(stderr)).toBe("belljar: No such file: a (FILE_NOT_FOUND)\n");
  reportFailure(error, { stderr, debug: true, failureCode: 1 });
  expect(readAll(stderr)).toContain("print.test.ts");
});

it("returns 2 for wrong usage of any command", () => {
  const stderr = new PassThrough();
  expect(reportFailure(new BelljarError("USAGE", "x"), { stderr, debug: false, failureCode: 125 })).toBe(2);
});

it("shows the stack of an unforeseen error", () => {
  const stderr = new PassThrough();
  expect(reportFailure(new TypeError("oops"), { stderr, debug: false, failureCode: 1 })).toBe(1);
  expect(readAll(stderr)).toMatch(/report this:\nTypeError: oops\n +at /);
});

it("takes what breaks after a signal for its consequence, unless Belljar foresaw it", () => {
  const broken = [new Error("Premature close"), new TypeError("x"), new BelljarError("CANCELLED", "Stopped")];
  expect(broken.map(isConsequence)).toEqual([true, true, true]);
  expect(isConsequence(new BelljarError("FILE_IO", "The disk is full"))).toBe(false);
});
