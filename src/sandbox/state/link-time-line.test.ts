import { describe, expect, it } from "vitest";
import { type Head, linkTimeLine } from "./link-time-line.ts";
import type { StoredCheckpoint } from "./stored-checkpoint.ts";

/** `id@line<parent`, the oldest first. A checkpoint with a small letter stands before a call, one with a capital was asked for. */
function stored(text: string): readonly StoredCheckpoint[] {
  return text.split(" ").map((one, at) => {
    const [, id = "", line, parent] = /^(\w+)(?:@(\d+))?(?:<(\w+))?$/.exec(one) ?? [];
    return {
      version: 1,
      id,
      createdAt: new Date(at * 1_000),
      way: "clone",
      stillMs: 0,
      layers: [],
      ...(line !== undefined && { line: Number(line) }),
      ...(parent !== undefined && { parent }),
      ...(id === id.toLowerCase() && { before: "run_command" }),
    };
  });
}

/** Each checkpoint with the one before it, the head, and the calls. */
function tell(text: string, head: Head): string {
  const { checkpoints, head: now = "", calls = [] } = linkTimeLine(stored(text), head);
  return `${checkpoints.map(({ id, parent }) => (parent === undefined ? id : `${id}<${parent}`)).join(" ")} | ${now} | ${calls.join(" ")}`;
}

describe("a time line", () => {
  it("is empty for a sandbox without checkpoints", () => {
    expect(linkTimeLine([], { line: 0 })).toEqual({ checkpoints: [], calls: [] });
  });

  it("leads over the calls of a line, to the checkpoint that was asked for, and over the calls before that", () => {
    expect(tell("a@0 b@0 C@0 d@1<C e@1<C", { line: 1, point: "C" })).toBe("a b<a C<b d<C e<d | e | e d b a");
  });

  it("holds together when the older ones of a line are gone", () => {
    expect(tell("C@0 f@1<C g@1<C", { line: 1, point: "C" })).toBe("C f<C g<f | g | g f");
  });

  it("leaves out calls that were taken back, and those on another way from the same point", () => {
    expect(tell("C@0 a@1<C b@1<C", { line: 2, point: "C" })).toBe("C a<C b<a | C | ");
    expect(tell("C@0 a@1<C b@1<C c@2<C", { line: 2, point: "C" })).toBe("C a<C b<a c<C | c | c");
  });

  it("leaves out the call before which the sandbox was put back, and keeps those before that", () => {
    expect(tell("a@0 b@0 c@0", { line: 1, point: "b" })).toBe("a b<a c<b | b | a");
    expect(tell("a@0 b@0 c@0 d@1<b", { line: 1, point: "b" })).toBe("a b<a c<b d<b | d | d a");
  });

  it("begins at a snapshot, or at a checkpoint that is gone, without the calls before that", () => {
    expect(tell("a@0 d@1<snapshot", { line: 1, point: "snapshot" })).toBe("a d<snapshot | d | d");
  });

  it("is as the checkpoints say that have no line", () => {
    expect(tell("A B<A C<A", { line: 3, point: "B" })).toBe("A B<A C<A | B | ");
  });

  it("does not go round in circles", () => {
    expect(tell("a<b b<a", { line: 1, point: "a" })).toBe("a<b b<a | a | ");
  });
});
