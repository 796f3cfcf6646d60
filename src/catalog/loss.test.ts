import { expect, it } from "vitest";
import { tellLoss } from "./loss.ts";

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
