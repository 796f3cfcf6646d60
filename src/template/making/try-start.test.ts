import { expect, it } from "vitest";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Making, MakingParts, Wish } from "./making.ts";
import { tryStart } from "./try-start.ts";

it.each([true, undefined])(
  "runs the command with the reach of the build's other steps (public addresses alone: %s)",
  async (isPublicOnly) => {
    const asked: unknown[] = [];
    const parts = {
      stored: { whileTried: (_principal: unknown, _source: unknown, work: () => Promise<void>) => work() },
      sandboxes: {
        create(_principal: unknown, options: unknown) {
          asked.push(options);
          return Promise.resolve({ kill: () => Promise.resolve() });
        },
      },
    } as unknown as MakingParts;
    const options = { name: "a", network: { allow: ["example.com"] } };
    const wish = { principal: LOCAL, id: "t", options, work: { isPublicOnly }, signal: AbortSignal.timeout(1_000) } as unknown as Wish;
    await tryStart(parts, wish, { making: { config: {}, layers: [] } as unknown as Making, start: { command: "serve" } });
    expect(asked).toMatchObject([{ template: "t", network: { allow: ["example.com"] } }]);
    expect((asked[0] as { isPublicOnly?: boolean }).isPublicOnly).toBe(isPublicOnly);
  },
);
