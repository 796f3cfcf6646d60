import { expect, it } from "vitest";
import { tellLoss, tellStop } from "./loss.ts";

const endedAt = new Date("2026-01-02T03:04:05.678Z");

it("says why the earlier sandbox ended, since when, and what is lost", () => {
  expect(tellLoss({ endReason: "deadline", endedAt })).toBe(
    "Note: this is a new sandbox. The earlier one ended at 2026-01-02T03:04:05Z: nobody was connected or used it until its deadline. " +
      "All of it is lost: its processes, variables of shells, installed packages and files are gone.",
  );
});

it("tells the changes of a copy as lost, and a shared folder as still there", () => {
  const ended = { endReason: "out_of_memory", endedAt } as const;
  const copy = tellLoss({ ...ended, workspace: { path: "/home/ada/project", mode: "copy" } });
  expect(copy).toContain("its memory was used up");
  expect(copy).toContain("all changes to its copy of /home/ada/project that were not applied");
  expect(tellLoss({ ...ended, workspace: { path: "/home/ada/project", mode: "rw" } })).toContain(
    "What lies in /home/ada/project is still there",
  );
});

it("says no more than it knows", () => {
  expect(tellLoss(undefined)).toMatch(/^Note: this is a new sandbox\. The earlier one ended\. All of it is lost/);
});

it("says what ended when a sandbox was stopped, when and why, and that its files are there", () => {
  expect(tellStop({ reason: "deadline", at: endedAt })).toBe(
    "Note: this sandbox was stopped at 2026-01-02T03:04:05Z (nobody was connected or used it until its deadline), and runs again. " +
      "Its files are as they were; its processes and servers ended, and the variables of shells and run_code are gone.",
  );
  expect(tellStop({ reason: "stopped", at: endedAt })).toContain("(somebody stopped it)");
  expect(tellStop({ reason: "stopped", at: endedAt, point: "abcd2345" })).toContain("was put back to abcd2345 at");
  expect(tellStop({ reason: "host_lost", at: endedAt })).toContain("(the machine was restarted)");
});

it.each([
  ["expired", /kept/],
  ["no_room", /to make room/],
  ["files_lost", /lay in memory/],
] as const)("says why a stopped sandbox is gone: %s", (endReason, said) => {
  expect(tellLoss({ endReason, endedAt })).toMatch(said);
});
