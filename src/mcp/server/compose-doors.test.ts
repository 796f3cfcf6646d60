import { expect, it } from "vitest";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { composePrompts } from "./compose-doors.ts";
import type { PromptDescription, PromptDoor } from "./prompt-door.ts";

const doorOf = (prompts: readonly PromptDescription[]): PromptDoor => ({
  list: () => prompts,
  get: async () => ({ messages: [] }),
  complete: async () => ({ values: [] }),
  onChange: () => () => undefined,
});

it("lists of two prompts of one name the earlier source's, and looks at each name a few times however many there are", () => {
  let looks = 0;
  const prompts = Array.from({ length: 2_000 }, (_, at): PromptDescription => ({
    get name() {
      looks += 1;
      return `p${at}`;
    },
  }));
  const listed = composePrompts([doorOf([{ name: "p0", title: "first" }]), doorOf(prompts)]).list(LOCAL);
  expect(looks).toBeLessThan(4 * 2_000);
  expect(listed).toHaveLength(2_000);
  expect(listed[0]).toEqual({ name: "p0", title: "first" });
});
