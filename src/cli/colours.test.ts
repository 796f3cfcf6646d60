import { describe, expect, it } from "vitest";
import { coloursFor } from "./colours.ts";

const TERMINAL = { isTTY: true };

describe("coloursFor", () => {
  it("paints on a terminal", () => {
    expect(coloursFor(TERMINAL, { TERM: "xterm" }).red("no")).toBe("\u001B[31mno\u001B[39m");
    expect(coloursFor(TERMINAL, { NO_COLOR: "" }).bold("a")).toBe("\u001B[1ma\u001B[22m");
  });

  it.each([
    ["a pipe", {}, { TERM: "xterm" }],
    ["NO_COLOR", TERMINAL, { NO_COLOR: "1" }],
    ["a terminal without colours", TERMINAL, { TERM: "dumb" }],
  ])("leaves text as it is for %s", (_, stream, env) => {
    expect(coloursFor(stream, env).red("no")).toBe("no");
  });
});
