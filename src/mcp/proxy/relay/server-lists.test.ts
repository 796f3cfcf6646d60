import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { BelljarError } from "../../../errors.ts";
import { LoginWanted } from "../../client/oauth/server-login.ts";
import { Instances } from "../instances.ts";
import type { ServerInstance } from "../server-instance.ts";
import { ListBudget, ListShare } from "./list-budget.ts";
import { ServerLists } from "./server-lists.ts";

// What would try again by itself never does.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

it("tries a server again as soon as a person has logged in", async () => {
  let starts = 0;
  const open = async (): Promise<ServerInstance> => {
    starts += 1;
    throw new BelljarError("UNAUTHORIZED", "Log in", { cause: new LoginWanted({ wantsScope: false }, undefined) });
  };
  await using instances = new Instances<ServerInstance>({ open, idleMs: 1_000, most: 1, changed: () => undefined });
  const problems: string[] = [];
  const waiting: (() => void)[] = [];
  const stateChanged = (): void => waiting.splice(0).forEach((tell) => tell());
  const next = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve));
  const first = next();
  const report = (problem: string): void => void problems.push(problem);
  await using lists = new ServerLists({
    name: "far",
    owner: "ann",
    key: "lists",
    share: new ListShare(new ListBudget(), "far"),
    instances,
    take: async () => undefined,
    report,
    stateChanged,
  });
  await first;
  expect([lists.state.state, starts]).toEqual(["needs_login", 1]);
  const second = next();
  lists.loggedIn();
  await second;
  expect([lists.state.state, starts, problems]).toEqual(["needs_login", 2, ["Log in"]]);
});
